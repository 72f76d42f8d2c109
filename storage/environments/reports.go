package environments

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"

	"github.com/bytedance/sonic"
	"github.com/klauspost/compress/zstd"

	"attestry/evidence"
	"attestry/evidence/snapshot"
	"attestry/storage"
)

const (
	// maxInlineReport is the largest compressed report kept in its document; larger ones are objects.
	maxInlineReport = 256 << 10
	// parkedPage is how many parked reports are read with one command.
	parkedPage = 32
	// maxCanonicalReport bounds the size of a decompressed report.
	maxCanonicalReport = 2 * snapshot.MaxReportSize
)

// Waiting reports have "accepted", parked ones have "parked".
var reportSchema = storage.NewSchema("reports",
	storage.Index{Name: "accepted", Fields: []string{"accepted"}, Required: "accepted"},
	storage.Index{Name: "parked", Fields: []string{"parked"}, Required: "parked"}).With("environment", "arrival", "org", "repeat", "object")

// WaitingReport is a report that was accepted and is not processed yet.
type WaitingReport struct {
	snapshot.ReportRecord
	// Content is the compressed canonical report, or Object the key of the object that has it.
	Content []byte `json:"content,omitempty"`
	Object  string `json:"object,omitempty"`
	// Failure says why the report was parked: it is kept for the operator and no longer waits.
	Failure string `json:"failure,omitempty"`
	// Attempts is how often it was tried before it was parked.
	Attempts int     `json:"attempts,omitempty"`
	ParkedAt float64 `json:"parked_at,omitempty"` // Unix seconds
}

// ObjectKeys returns the keys of the objects that the report names.
func (r *WaitingReport) ObjectKeys() []string { return []string{r.Object} }

// NewReportID returns a fresh id for a report.
func NewReportID() string {
	id := evidence.NewID()
	return id[len(id)-8:]
}

// Reports keeps the reports that wait to be processed.
type Reports struct {
	storage.Collection[WaitingReport]
	objects storage.Objects
	// The codecs take long to make and are safe for concurrent use.
	compressor   *zstd.Encoder
	decompressor *zstd.Decoder
}

// NewReports binds the repository to an engine.
func NewReports(docs storage.Documents, objects storage.Objects) *Reports {
	// Each encoder keeps up to 8 MiB. By default there is one for each processor, however many.
	compressor, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithEncoderConcurrency(min(runtime.GOMAXPROCS(0), 8)))
	decompressor, readerErr := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(maxCanonicalReport))
	if err := cmp.Or(err, readerErr); err != nil {
		panic("storage: the options of zstd are wrong: " + err.Error())
	}
	return &Reports{
		objects:      objects,
		compressor:   compressor,
		decompressor: decompressor,
		Collection: storage.NewCollection(docs, reportSchema,
			func(r *WaitingReport) string { return numbered(r.Environment, r.Arrival) },
			func(r *WaitingReport) map[string]any {
				fields := map[string]any{"environment": r.Environment, "arrival": r.Arrival, "object": r.Object}
				if r.Failure != "" {
					fields["parked"], fields["org"] = r.ParkedAt, r.Org
					return fields
				}
				fields["accepted"] = r.AcceptedAt
				if r.Repeat {
					fields["repeat"] = true
				}
				return fields
			}),
	}
}

// Pack puts the canonical report into its record: compressed, and as an object if it is large. A repeat has none.
func (r *Reports) Pack(ctx context.Context, record *WaitingReport, report *snapshot.Report) error {
	if record.Repeat {
		return nil
	}
	body, err := sonic.ConfigStd.Marshal(report)
	if err != nil {
		return fmt.Errorf("encode a report: %w", err)
	}
	compressed := r.compressor.EncodeAll(body, nil)
	if len(compressed) <= maxInlineReport {
		record.Content = compressed
		return nil
	}
	// An id of 32 bytes in a skippable zstd frame: equal reports share no object, so each is deleted with its own.
	compressed = append(compressed, "P*M\x18\x20\x00\x00\x00"+evidence.NewID()...)
	object, err := r.objects.Put(ctx, ReportObjects+record.Org, bytes.NewReader(compressed), int64(len(compressed)))
	record.Object = object.Key
	return err
}

// Unpack returns the canonical report of a record, or ErrDamaged. That of a repeat is empty.
func (r *Reports) Unpack(ctx context.Context, record *WaitingReport) (snapshot.Report, error) {
	var report snapshot.Report
	if record.Repeat {
		return report, nil
	}
	compressed, err := r.content(ctx, record)
	if err != nil {
		return report, err
	}
	body, err := r.decompressor.DecodeAll(compressed, nil)
	if err != nil {
		return report, record.damaged(fmt.Errorf("unpack: %w", err))
	}
	if err := sonic.ConfigStd.Unmarshal(body, &report); err != nil {
		return report, record.damaged(fmt.Errorf("decode: %w", err))
	}
	return report, nil
}

func (r *WaitingReport) damaged(cause error) error {
	return storage.Damaged(fmt.Sprintf("The stored report %d of environment %s is damaged or lost", r.Arrival, r.Environment), cause)
}

func (r *Reports) content(ctx context.Context, record *WaitingReport) ([]byte, error) {
	if record.Object == "" {
		return record.Content, nil
	}
	return storage.ReadObject(ctx, r.objects, record.Object, "the object of a report", record.damaged)
}

// Get returns the report of an arrival number, or ErrNotFound.
func (r *Reports) Get(ctx context.Context, environment string, arrival int64) (WaitingReport, error) {
	return r.Collection.Get(ctx, numbered(environment, arrival))
}

// Exists reports whether the report of that arrival number is stored: one command.
func (r *Reports) Exists(ctx context.Context, environment string, arrival int64) (bool, error) {
	_, err := r.Get(ctx, environment, arrival)
	switch {
	case errors.Is(err, storage.ErrNotFound):
		return false, nil
	case errors.Is(err, storage.ErrDamaged):
		return true, nil
	}
	return err == nil, err
}

// NextPending returns the reports of an environment after an arrival number, in order, without gaps, at most limit: one
// command if none is damaged. ErrDamaged means that the first of them is.
func (r *Reports) NextPending(ctx context.Context, environment string, arrival int64, limit int) ([]WaitingReport, error) {
	ids := make([]string, limit)
	for i := range ids {
		ids[i] = numbered(environment, arrival+1+int64(i))
	}
	records, err := r.Collection.GetMany(ctx, ids)
	if errors.Is(err, storage.ErrDamaged) {
		records, err = r.readable(ctx, ids)
	}
	for i, record := range records {
		if record.Arrival != arrival+1+int64(i) {
			return records[:i], err
		}
	}
	return records, err
}

// readable returns the reports before the first missing or damaged one, or ErrDamaged if the very first is damaged.
func (r *Reports) readable(ctx context.Context, ids []string) ([]WaitingReport, error) {
	var records []WaitingReport
	for _, id := range ids {
		record, err := r.Collection.Get(ctx, id)
		if errors.Is(err, storage.ErrNotFound) || errors.Is(err, storage.ErrDamaged) && len(records) > 0 {
			break
		}
		if err != nil {
			return nil, err
		}
		records = append(records, record)
	}
	return records, nil
}

// ReportRef names a waiting report without its content.
type ReportRef struct {
	Environment string // id
	Arrival     int64
	AcceptedAt  float64 // Unix seconds
	// Repeat is that of the report.
	Repeat bool
}

// AcceptedBefore returns a page of the waiting reports of all environments that were accepted before a moment, oldest
// first, and the next cursor.
func (r *Reports) AcceptedBefore(ctx context.Context, moment float64, after string) ([]ReportRef, string, error) {
	found, next, err := r.Collection.FindFields(ctx, storage.Query{
		Index: "accepted", From: &storage.Bound{Value: 0.0}, To: &storage.Bound{Value: moment}, After: after, Limit: storage.MaxMany,
	})
	refs := make([]ReportRef, 0, len(found))
	for _, record := range found {
		ref := ReportRef{Environment: record.Text("environment"), Arrival: record.Integer("arrival"), AcceptedAt: record.Float("accepted")}
		ref.Repeat, _ = record.Fields["repeat"].(bool)
		refs = append(refs, ref)
	}
	return refs, next, err
}

// Parked returns a page of the parked reports, the oldest first, and the next cursor. Pages are short, as reports come
// with their content. A report whose document is damaged has that error as its Failure, and only its declared fields.
func (r *Reports) Parked(ctx context.Context, after string) ([]WaitingReport, string, error) {
	query := storage.Query{Index: "parked", From: &storage.Bound{Value: 0.0}, After: after, Limit: parkedPage}
	records, next, err := r.Collection.Find(ctx, query)
	if errors.Is(err, storage.ErrDamaged) {
		return r.parkedOneByOne(ctx, query)
	}
	return records, next, err
}

// Counts counts the reports that wait and those that are parked: two commands.
func (r *Reports) Counts(ctx context.Context) (waiting, parked int64, err error) {
	if waiting, err = r.Collection.Count(ctx, storage.Query{Index: "accepted", From: &storage.Bound{Value: 0.0}}); err != nil {
		return 0, 0, err
	}
	parked, err = r.Collection.Count(ctx, storage.Query{Index: "parked", From: &storage.Bound{Value: 0.0}})
	return waiting, parked, err
}

func (r *Reports) parkedOneByOne(ctx context.Context, query storage.Query) ([]WaitingReport, string, error) {
	found, next, err := r.Collection.FindFields(ctx, query)
	if err != nil {
		return nil, "", err
	}
	records := make([]WaitingReport, 0, len(found))
	for _, entry := range found {
		record, err := r.Collection.Get(ctx, entry.ID)
		switch {
		case errors.Is(err, storage.ErrNotFound):
			continue
		case errors.Is(err, storage.ErrDamaged):
			record = WaitingReport{Failure: err.Error(), ParkedAt: entry.Float("parked")}
			record.Org, record.Environment, record.Arrival = entry.Text("org"), entry.Text("environment"), entry.Integer("arrival")
		case err != nil:
			return nil, "", err
		}
		records = append(records, record)
	}
	return records, next, nil
}

// Discard is Remove for references. A report that was parked meanwhile stays.
func (r *Reports) Discard(ctx context.Context, refs []ReportRef) error {
	records, err := r.Collection.GetMany(ctx, evidence.Map(refs, func(ref ReportRef) string { return numbered(ref.Environment, ref.Arrival) }))
	if err != nil {
		return err
	}
	return r.Remove(ctx, slices.DeleteFunc(records, func(record WaitingReport) bool { return record.Failure != "" })...)
}

// Remove deletes processed reports and their objects.
func (r *Reports) Remove(ctx context.Context, records ...WaitingReport) error {
	ids := evidence.Map(records, func(record WaitingReport) string { return numbered(record.Environment, record.Arrival) })
	if err := r.Collection.Delete(ctx, ids...); err != nil {
		return err
	}
	return r.RemoveObjects(ctx, records)
}

// RemoveIn adds the removal of a processed report to a batch. After the batch, RemoveObjects removes its object.
func (r *Reports) RemoveIn(batch *storage.Batch, record *WaitingReport) {
	r.Collection.DeleteIn(batch, numbered(record.Environment, record.Arrival))
}

// RemoveObjects deletes the objects of reports that were removed.
func (r *Reports) RemoveObjects(ctx context.Context, records []WaitingReport) error {
	for _, record := range records {
		if record.Object == "" {
			continue
		}
		if err := r.objects.Delete(ctx, record.Object); err != nil {
			return err
		}
	}
	return nil
}

// ReportObjects is the prefix of the keys of all objects of reports, by which they are listed.
const ReportObjects = "waiting-reports."

// ObjectKeys returns the keys of the objects of waiting and parked reports. A report that is parked meanwhile is found
// in the second index.
func (r *Reports) ObjectKeys(ctx context.Context) (map[string]bool, error) {
	keys := map[string]bool{}
	for _, index := range []string{"accepted", "parked"} {
		query := storage.Query{Index: index, From: &storage.Bound{Value: 0.0}, Limit: storage.MaxMany}
		err := storage.ForEachFields(ctx, r.Collection, query, func(record *storage.Record) error {
			if key := record.Text("object"); key != "" {
				keys[key] = true
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return keys, nil
}
