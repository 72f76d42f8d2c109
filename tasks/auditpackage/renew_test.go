package auditpackage

import (
	"errors"
	"testing"

	"attestry/app"
	"attestry/app/apptest"
	"attestry/evidence/audit"
	"attestry/storage/storagetest"
)

func TestLeaseIsRenewedUntilAnotherWorkerHasIt(t *testing.T) {
	sound, docs, clock := apptest.NewStore(t)
	broken := app.NewStore(storagetest.NewFaultInjector(docs, storagetest.Fault{At: 1, Err: errors.New("broken")}), nil, clock.Now, nil)
	t.Cleanup(broken.Tenancy.Close)
	_, err := sound.Assemblies.Change(t.Context(), audit.Assembly{ID: "a"}, func(a *audit.Assembly) { a.Ask("state", "acme", 1); a.Begin("one", 1) })
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, holder string
		store        *app.Store
		want         error
	}{{"own lease", "one", sound, nil}, {"failure of the store", "two", broken, nil}, {"lease of another worker", "two", sound, errTaken}} {
		if err := NewAssembler(c.store, Options{Clock: clock.Now}).renew(t.Context(), "a", c.holder); !errors.Is(err, c.want) || c.want == nil && err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	a, err := sound.Assemblies.Get(t.Context(), "a")
	if err != nil || a.Until < float64(clock.Now().Unix()) {
		t.Errorf("the lease ends at %v: %v", a.Until, err)
	}
}
