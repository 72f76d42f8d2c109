package pebble

import (
	"cmp"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"

	"attestry/storage/pebble/compaction"
)

const (
	// format is the version of Pebble's files. It is fixed, so that other versions of the library can open them.
	format = pebble.FormatValueSeparation
	// memTableBytes is how much is written before it is sorted into a file. Pebble begins with 256 KiB and doubles
	// that.
	memTableBytes = 16 << 20
	// memTables is how many of them may wait to be written before writes wait.
	memTables = 4
	// reservedBytes is what Pebble takes away from the cache for a table in memory that is written to and one that is
	// written out. Without it, nothing would be left to the cache, and each look-up would read its filters from the disk.
	reservedBytes = 2 * memTableBytes
	// filterBits is the size of the filters, per key, by which a look-up skips tables. With 10 bits it reads 1 table in
	// 100 in vain.
	filterBits = 10
	// compactionFiles is how many sorted files may overlap before they are merged. Merging costs the most, and filters
	// make overlapping files cheap to read.
	compactionFiles = 4
	// stopFiles is how many may overlap before writes wait.
	stopFiles = 64
	// openFiles bounds how many tables are open at once.
	openFiles = 512
)

// settings are the options of Pebble, which reports to a logger.
func settings(options Options, files *filesystem, reports *logger) *pebble.Options {
	compactions := compaction.NewScheduler(compaction.Pause)
	s := &pebble.Options{
		FS:                          files,
		Logger:                      reports,
		EventListener:               reports.listener(compactions),
		FormatMajorVersion:          format,
		CacheSize:                   cmp.Or(options.CacheBytes, DefaultCacheBytes) + reservedBytes,
		MemTableSize:                memTableBytes,
		MemTableStopWritesThreshold: memTables,
		L0CompactionThreshold:       compactionFiles,
		L0StopWritesThreshold:       stopFiles,
		MaxOpenFiles:                openFiles,
		// One compaction leaves the other of two processors to the service.
		CompactionConcurrencyRange: func() (lower, upper int) { return 1, 2 },
	}
	s.Experimental.CompactionScheduler = compactions
	for i := range s.Levels {
		s.Levels[i].FilterPolicy = bloom.FilterPolicy(filterBits)
	}
	return s
}
