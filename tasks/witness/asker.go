// Package witness has witnesses cosign the checkpoints of transparency logs (in a worker), as C2SP tlog-witness says.
package witness

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"attestry/config"
	"attestry/evidence"
	"attestry/evidence/job"
	"attestry/goroutine"
	"attestry/storage"
	"attestry/storage/logs"
)

// timeLimit is how long a witness may take to answer.
const timeLimit = 5 * time.Second

var errFork = errors.New("the log here is a fork of the one that the witness has cosigned")

// Asker requests cosignatures of witnesses.
type Asker struct {
	logs      *logs.Logs
	witnesses config.Witnesses
	client    *http.Client
	clock     evidence.Clock
	log       *slog.Logger
	count     func(witness, reason string)
}

// New makes an asker. count is called when a witness that was asked has not cosigned, with "fork" or "failed".
func New(of *logs.Logs, witnesses config.Witnesses, client *http.Client, clock evidence.Clock, log *slog.Logger, count func(witness, reason string)) *Asker {
	return &Asker{logs: of, witnesses: witnesses, client: client, clock: clock, log: log, count: count}
}

// Ask concurrently asks the witnesses that have not cosigned the last checkpoint of an organization's log and whose
// pause after a failure is over. Each cosignature is published when it arrives.
func (a *Asker) Ask(ctx context.Context, org string) error {
	log, err := a.logs.Get(ctx, org)
	if err != nil {
		return storage.IgnoreMissing(err)
	}
	var group goroutine.Group
	for i := range a.witnesses {
		if known := log.Witnesses[a.witnesses[i].Key.Name()]; known.Size < log.Signed {
			group.Go(func() error { return a.ask(ctx, &log, &a.witnesses[i], known) })
		}
	}
	return group.Wait()
}

// ask asks a witness if its pause is over, and records the outcome and when the log is next to be cosigned.
func (a *Asker) ask(ctx context.Context, log *logs.Log, witness *config.Witness, known logs.Witness) error {
	name, signature := witness.Key.Name(), ""
	if known.Retry <= evidence.Seconds(a.clock()) {
		var err error
		if signature, err = a.cosign(ctx, log, witness, known.Size); err == nil {
			known = logs.Witness{Size: log.Signed}
		} else {
			a.report(log, name, err)
			known.Failed++
			known.Retry = evidence.Seconds(a.clock().Add(job.Cosign.Pause(known.Failed, rand.Float64())))
		}
	}
	return a.logs.RecordCosignature(ctx, log.Org, log.Signed, name, known, signature, a.witnesses.Names())
}

// report counts and logs that a witness has not cosigned.
func (a *Asker) report(log *logs.Log, name string, err error) {
	entry := a.log.With("witness", name, "origin", log.Origin, "size", log.Signed, "error", err.Error())
	if errors.Is(err, errFork) {
		a.count(name, "fork")
		entry.Error("fork: a witness has cosigned another history of a transparency log")
		return
	}
	a.count(name, "failed")
	entry.Warn("a witness has not cosigned a checkpoint and will be asked again")
}

// cosign returns the line of a witness's signature of the last checkpoint of a log. size is the last one that the
// witness cosigned, as far as is known; if it answers with another one, it is asked once more.
func (a *Asker) cosign(ctx context.Context, log *logs.Log, witness *config.Witness, size int64) (string, error) {
	for range 2 {
		signature, known, err := a.post(ctx, log, witness, size)
		if err != nil || signature != "" {
			return signature, err
		}
		if known > log.Signed {
			return "", a.ahead(ctx, log, known)
		}
		size = known
	}
	return "", overtaken(size)
}

// ahead is the error for a witness that has cosigned a size above that of a log. Another worker may have asked it for a
// later checkpoint since the log was read. Without such a checkpoint, the log is a fork.
func (a *Asker) ahead(ctx context.Context, log *logs.Log, size int64) error {
	current, err := a.logs.Get(ctx, log.Org)
	switch {
	case err != nil:
		return err
	case size <= current.Signed:
		return overtaken(size)
	}
	return fmt.Errorf("%w: that one had %d entries, this one has %d", errFork, size, current.Signed)
}

func overtaken(size int64) error {
	return fmt.Errorf("the witness has cosigned %d entries meanwhile", size)
}

// post sends the last checkpoint of a log with the proof that it has all entries of an earlier one. It returns the line
// of the signature or, if the witness has cosigned another size last, "" and that size.
func (a *Asker) post(ctx context.Context, log *logs.Log, witness *config.Witness, size int64) (string, int64, error) {
	proof, err := a.logs.Consistency(ctx, log, size)
	if err != nil {
		return "", 0, err
	}
	body := fmt.Sprintf("old %d\n", size)
	for _, hash := range proof {
		body += base64.StdEncoding.EncodeToString(hash[:]) + "\n"
	}
	ctx, cancel := context.WithTimeout(ctx, timeLimit)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, witness.Address+"/add-checkpoint", strings.NewReader(body+"\n"+log.Checkpoint))
	if err != nil {
		return "", 0, err
	}
	response, err := a.client.Do(request)
	if err != nil {
		return "", 0, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return "", 0, err
	}
	switch {
	case response.StatusCode == http.StatusOK:
		signature, err := witness.Key.Cosignature(log.Checkpoint, string(answer))
		return signature, 0, err
	case response.StatusCode == http.StatusConflict && response.Header.Get("Content-Type") == "text/x.tlog.size":
		known, err := strconv.ParseUint(strings.TrimSuffix(string(answer), "\n"), 10, 63)
		return "", int64(known), err
	// 422 is for an invalid proof. 409 is also for another root of the same size, which needs no proof.
	case response.StatusCode == http.StatusUnprocessableEntity, response.StatusCode == http.StatusConflict && size == log.Signed:
		return "", 0, fmt.Errorf("%w: it answered %s", errFork, response.Status)
	}
	return "", 0, fmt.Errorf("the witness answered %s", response.Status)
}
