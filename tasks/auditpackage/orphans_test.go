package auditpackage_test

import (
	"log/slog"
	"testing"

	"attestry/evidence"
	"attestry/evidence/audit"
	"attestry/storage/packages"
	"attestry/storage/storagetest"
	"attestry/tasks/orphans"
)

// TestObjectsOfPackagesThatNoRecordNamesAreDeleted leaves an archive without a record, like a worker that is killed
// between both writes, besides a ready and a replaced package.
func TestObjectsOfPackagesThatNoRecordNamesAreDeleted(t *testing.T) {
	s := delivered(t)
	replaced := s.assemble(s.ofTrail("1"))
	s.attest("1", attestation("more", evidence.TypeGeneric))
	ready, lost := s.assemble(s.ofTrail("1")), s.assemble(s.ofArtifact(current))
	_, err := s.store.Assemblies.Update(t.Context(), s.ofArtifact(current).ID, func(known *audit.Assembly) { known.Ready = nil })
	s.must(err)
	collector := orphans.NewCollector(s.engine, s.store.Leases, packages.Objects, s.store.Assemblies.ObjectKeys, s.clock.Now, slog.New(slog.DiscardHandler))
	before := storagetest.FileKeys(t, s.folder)
	for range 8 {
		s.must(collector.Collect(t.Context()))
		s.clock.Advance(orphans.Interval)
	}
	for name, row := range map[string]struct {
		stored audit.Stored
		kept   bool
	}{
		"replaced": {replaced.Archive, true}, "report of the replaced package": {*replaced.Report, true},
		"ready": {ready.Archive, true}, "report of the ready package": {*ready.Report, true}, "without a record": {lost.Archive, false},
	} {
		if _, err := s.store.Objects.Stat(t.Context(), row.stored.Object); (err == nil) != row.kept {
			t.Errorf("%s: %v", name, err)
		}
	}
	if after := storagetest.FileKeys(t, s.folder); len(after) != len(before)-1 {
		t.Errorf("%d objects became %d", len(before), len(after))
	}
}
