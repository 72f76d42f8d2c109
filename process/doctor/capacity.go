package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"sort"
	"time"

	"github.com/dustin/go-humanize"

	"attestry/api/memory"
	"attestry/evidence"
	"attestry/storage"
	"attestry/storage/pebble"
	"attestry/storage/transfer"
)

const (
	// lowDisk is the free disk space, in bytes, below which a database may lack space for compactions.
	lowDisk = 1 << 30
	// lowDays is how many days before a disk is full there is a warning.
	lowDays = 30
)

// examineMemory applies only if the service runs in this process, on a system with /proc.
func examineMemory(_ context.Context, s *Subject) (found []Finding, err error) {
	content, err := os.ReadFile("/proc/self/statm")
	if err != nil || !s.Running {
		return nil, nil
	}
	var pages, resident int64
	_, err = fmt.Sscan(string(content), &pages, &resident)
	resident *= int64(os.Getpagesize())
	limit, budget := memory.Limit(), cmp.Or(int64(s.Settings.HTTP.MemoryBudget), memory.DefaultTotal())
	return measured(resident > limit/10*9 || budget > limit/2,
		"give the service more memory, or lower ATTESTRY_MEMORY_BUDGET to a quarter of it",
		"%s of %s in use, %s for requests", size(resident), size(limit), size(budget)), err
}

func size(bytes int64) string { return humanize.IBytes(uint64(bytes)) }

// examineDisk applies only to Pebble. It finds the least free space of the disks with data, and the days until they are
// full. It assumes that the data grow daily by the share of facts that were logged within the last 24 hours.
func examineDisk(ctx context.Context, s *Subject) (found []Finding, err error) {
	if s.Engines.Embedded == nil {
		return nil, nil
	}
	used, free, err := diskUse(ctx, s)
	if err != nil {
		return nil, err
	}
	recent, all, err := countFacts(ctx, s)
	days, growth := "unknown", float64(used)*float64(recent)/float64(max(all, 1))
	if all > 0 {
		days = fmt.Sprintf("%.0f", float64(free)/max(growth, 1))
	}
	return measured(free < lowDisk || growth*lowDays > float64(free), "make room, or move the data to a larger disk",
		"%s free, %s of data, %s a day as today; days left: %s", size(free), size(used), size(int64(growth)), days), err
}

// diskUse returns the size of the data in folders and the least free space of their disks. It adds up objects for at
// most half of the timeout of the check.
func diskUse(ctx context.Context, s *Subject) (used, free int64, err error) {
	used = s.Engines.Embedded.Size()
	free, err = pebble.Room(s.Settings.Stores.Database.Path)
	folder := s.Settings.Stores.Objects.Path
	if err != nil || folder == "" {
		return used, free, err
	}
	room, err := pebble.Room(folder)
	began := time.Now()
	for object, failed := range transfer.ObjectsIn(s.Engines.Objects).All(ctx, "") {
		if err = cmp.Or(err, failed); err != nil || time.Since(began) > timeout/2 {
			break
		}
		used += object.Size
	}
	return used, min(free, room), err
}

// countFacts counts the facts of all logs, and, by their checkpoints, those that were logged within the last 24 hours.
func countFacts(ctx context.Context, s *Subject) (recent, all int64, err error) {
	yesterday := evidence.Seconds(s.Clock().Add(-24 * time.Hour))
	err = s.Store.Tenancy.EachOrganization(ctx, func(org *evidence.Organization) error {
		log, err := s.Store.Logs.Get(ctx, org.ID)
		if errors.Is(err, storage.ErrNotFound) {
			return nil
		}
		older := sort.Search(int(log.Signed), func(i int) bool {
			checkpoint, failed := s.Store.Logs.Covering(ctx, org.ID, int64(i)+1)
			err = cmp.Or(err, failed)
			return failed != nil || checkpoint.At > yesterday
		})
		recent, all = recent+log.Signed-int64(older), all+log.Signed
		return err
	})
	return recent, all, err
}
