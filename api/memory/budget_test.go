package memory

import (
	"errors"
	"math/rand/v2"
	"sync"
	"testing"

	"attestry/evidence"
)

const mebibyte = 1 << 20

func refused(err error) bool {
	var ours *evidence.Error
	return errors.As(err, &ours) && ours.Code == evidence.Unavailable && ours.RetryAfter > 0
}

func TestRequestsShareTheBudget(t *testing.T) {
	b := NewBudget(80 * mebibyte)
	first, second := NewAccount(b), NewAccount(b)
	if err := first.Keep(50 * mebibyte); err != nil {
		t.Fatal(err)
	}
	if err := second.Keep(21 * mebibyte); !refused(err) {
		t.Errorf("71 of 70 MiB were given out: %v", err)
	}
	if err := second.Fits(21 * mebibyte); !refused(err) {
		t.Errorf("71 of 70 MiB would fit: %v", err)
	}
	if b.InUse() != 50*mebibyte || b.Refused() != 2 || b.Total() != 80*mebibyte {
		t.Errorf("%d in use, %d refused", b.InUse(), b.Refused())
	}
	if err := first.Keep(10 * mebibyte); err != nil {
		t.Fatal(err)
	}
	if err := second.Keep(60 * mebibyte); err != nil {
		t.Errorf("what was given back is not to be had: %v", err)
	}
	if err := first.Keep(11 * mebibyte); !refused(err) || b.InUse() != 70*mebibyte {
		t.Errorf("an account grew beyond the budget: %v", err)
	}
	first.Release()
	second.Release()
	second.Release()
	if b.InUse() != 0 {
		t.Errorf("%d are in use by nobody", b.InUse())
	}
}

func TestSmallRequestsDoNotStarveBehindLargeOnes(t *testing.T) {
	b := NewBudget(80 * mebibyte)
	large := NewAccount(b)
	if err := large.Keep(70 * mebibyte); err != nil {
		t.Fatal(err)
	}
	var small []*Account
	for range 10 {
		one := NewAccount(b)
		if err := one.Keep(Small); err != nil {
			t.Fatalf("small request %d is refused: %v", len(small), err)
		}
		small = append(small, one)
	}
	if err := NewAccount(b).Keep(Small); !refused(err) {
		t.Errorf("the eleventh small one exceeds the budget: %v", err)
	}
	if err := small[0].Keep(Small + 1); !refused(err) {
		t.Errorf("a small request became large in what is kept for small ones: %v", err)
	}
	for range 100 {
		if err := NewAccount(b).Keep(Free); err != nil {
			t.Fatalf("a request that is free was refused: %v", err)
		}
	}
	if b.InUse() != 80*mebibyte {
		t.Errorf("%d in use", b.InUse())
	}
}

func TestAccountThatShrinksIsNeverRefused(t *testing.T) {
	b := NewBudget(16 * mebibyte)
	one, other := NewAccount(b), NewAccount(b)
	if err := errors.Join(one.Keep(13*mebibyte), other.Keep(Small)); err != nil {
		t.Fatal(err)
	}
	for _, size := range []int64{12 * mebibyte, Small, Free, 0} {
		if err := one.Keep(size); err != nil {
			t.Errorf("down to %d: %v", size, err)
		}
	}
	if b.InUse() != Small {
		t.Errorf("%d in use", b.InUse())
	}
}

func TestConcurrentRequestsNeverExceedTheBudget(t *testing.T) {
	b := NewBudget(20 * mebibyte)
	most := NewAccount(b)
	// So little is left that some requests are refused, however they are scheduled.
	if err := most.Keep(16 * mebibyte); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for i := range 16 {
		group.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(i)))
			r := NewAccount(b)
			defer r.Release()
			for range 2000 {
				if err := r.Keep(random.Int64N(4 * mebibyte)); err != nil && !refused(err) {
					t.Error(err)
				}
				if inUse := b.InUse(); inUse < 0 || inUse > b.Total() {
					t.Errorf("%d in use", inUse)
				}
			}
		})
	}
	group.Wait()
	most.Release()
	if b.InUse() != 0 || b.Refused() == 0 {
		t.Errorf("%d in use at the end, %d refused", b.InUse(), b.Refused())
	}
}

func TestDefaultIsAQuarterOfTheMemoryLimit(t *testing.T) {
	limit := func(bytes uint64) func() (uint64, error) { return func() (uint64, error) { return bytes, nil } }
	none := func() (uint64, error) { return 0, errors.New("no limit") }
	for name, row := range map[string]struct {
		cgroup, machine func() (uint64, error)
		want            int64
	}{
		"of the cgroup":             {limit(512 * mebibyte), limit(4096 * mebibyte), 128 * mebibyte},
		"of the machine":            {none, limit(4096 * mebibyte), 1024 * mebibyte},
		"of a cgroup without bound": {limit(1 << 60), limit(4096 * mebibyte), 1024 * mebibyte},
		"of an unknown limit":       {none, none, 256 * mebibyte},
		"at least the minimum":      {limit(32 * mebibyte), none, MinTotal},
	} {
		t.Run(name, func(t *testing.T) {
			if got := quarter(leastOf(row.cgroup, row.machine)); got != row.want {
				t.Errorf("got %d, want %d", got, row.want)
			}
		})
	}
	if DefaultTotal() < MinTotal {
		t.Errorf("this machine's is %d", DefaultTotal())
	}
}
