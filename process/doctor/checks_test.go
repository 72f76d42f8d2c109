package doctor_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"attestry/app/apptest"
	"attestry/evidence"
	"attestry/evidence/evidencetest"
	"attestry/evidence/identity"
	"attestry/evidence/notification"
	"attestry/evidence/snapshot"
	"attestry/evidence/translog"
	"attestry/process"
	"attestry/process/doctor"
	"attestry/storage"
	"attestry/storage/environments"
	"attestry/storage/filesystem"
	"attestry/storage/storagetest"
	"attestry/storage/tenancy"
	"attestry/tasks/sequencer"
)

func TestRedisTakesWrites(t *testing.T) {
	redis := miniredis.RunT(t)
	s := newSite(t, "ATTESTRY_REDIS_URL=redis://"+redis.Addr())
	found := s.examine()
	found.want(t, "redis", doctor.OK, "takes a write in ")
	if keys := redis.Keys(); len(keys) > 0 {
		t.Errorf("it left %v", keys)
	}
	redis.SetError("OOM command not allowed")
	s.examine().want(t, "redis", doctor.Error, "OOM command not allowed")
}

func TestContradictorySettingsAreReported(t *testing.T) {
	certificate := writeCertificates(t, 400)
	for variable, row := range map[string]struct {
		more []string
		text string
	}{
		"ATTESTRY_QUEUES=reports=6,compliance=3":      {nil, "ATTESTRY_QUEUES leaves out queues"},
		"ATTESTRY_OIDC_ISSUER=https://issuer.example": {[]string{"ATTESTRY_OIDC_CLIENT_ID=a", "ATTESTRY_WEB=off"}, "ATTESTRY_OIDC_ISSUER signs people in"},
		"ATTESTRY_TLS_CERT_FILE=" + certificate:       {[]string{"ATTESTRY_TLS_KEY_FILE=" + certificate, "ATTESTRY_BASE_URL=http://attestry.example"}, "ATTESTRY_BASE_URL begins with http://"},
		"ATTESTRY_RETENTION_MODE=compliance":          {nil, "ATTESTRY_RETENTION_MODE is set"},
		"ATTESTRY_RETENTION_ORGANIZATIONS=acne=0":     {nil, "ATTESTRY_RETENTION_ORGANIZATIONS has acne"},
	} {
		t.Run(variable, func(t *testing.T) {
			s := newSite(t)
			s.environ = append(append(s.environ, variable), row.more...)
			s.examine().want(t, "settings", doctor.Warning, row.text)
		})
	}
	newSite(t, "ATTESTRY_RETENTION_ORGANIZATIONS=acme=0").examine().want(t, "settings", doctor.OK, "")
}

func TestStoreWithoutRetentionIsReported(t *testing.T) {
	s := newSite(t)
	settings := s.settings()
	settings.Retention.Days = 1 // which is refused for a folder when settings are loaded
	tested := s.open(settings)
	defer func() { s.must(tested.Close()) }()
	examine(t, tested).want(t, "retention", doctor.Error, "it does not keep objects from deletion")
}

// behind is an object store whose clock is an hour behind.
type behind struct{ storage.Objects }

func (behind) Now(context.Context) (time.Time, error) { return time.Now().Add(-time.Hour), nil }

func TestStoreWithAnotherClockIsReported(t *testing.T) {
	s := newSite(t)
	docs, err := process.OpenDocuments(t.Context(), s.settings().Stores.Database, nil)
	s.must(err)
	objects, err := filesystem.Open(s.folder + "/objects")
	s.must(err)
	tested := subject(t, s.settings(), docs, behind{objects})
	defer func() { s.must(tested.Close()) }()
	examine(t, tested).want(t, "clock", doctor.Warning, "this clock is 1h0m0s off that of a store")
}

func TestRecordAheadOfTheClockIsReported(t *testing.T) {
	s := newSite(t)
	s.record(func(p *process.Process, org evidence.Organization) {
		record := apptest.AttestationRecord("a", "flow", "generic", true, evidence.Seconds(time.Now().Add(time.Hour)))
		record.Org = org.ID
		apptest.PutAttestations(t, p.Store, record)
	})
	s.examine().want(t, "clock", doctor.Warning, "the newest attestation is ")
}

func TestKeysThatExpireSoonAreReported(t *testing.T) {
	s := newSite(t)
	day := func(n int) tenancy.NewKey {
		return tenancy.NewKey{Description: "day", ExpiresAt: time.Now().AddDate(0, 0, n).Unix()}
	}
	var soon string
	s.record(func(p *process.Process, org evidence.Organization) {
		users := p.Store.Tenancy
		account, err := users.CreateServiceAccount(t.Context(), "acme", identity.Operator(), identity.ServiceAccount{Name: "ci"})
		s.must(err)
		owner := identity.KeyOwner{ID: account.ID, Name: "ci", OrgID: org.ID, OrgName: "acme", ServiceAccount: true}
		key, _, err := users.IssueKey(t.Context(), owner, identity.Operator(), day(29))
		s.must(err)
		soon = key.ID
		anna, err := users.UserKeys(t.Context(), "anna")
		s.must(err)
		for _, of := range []tenancy.NewKey{day(31), {Description: "never"}} {
			_, _, err = users.IssueKey(t.Context(), anna, identity.Operator(), of)
			s.must(err)
		}
		// A rotated key, and a key of a removed user.
		key, _, err = users.IssueKey(t.Context(), anna, identity.Operator(), day(5))
		s.must(err)
		_, _, _, err = users.RotateKey(t.Context(), anna, identity.Operator(), key.ID, time.Hour, 0)
		s.must(err)
		s.must(users.CreateUser(t.Context(), "bert", "bert@example.com", identity.Operator()))
		bert, err := users.UserKeys(t.Context(), "bert")
		s.must(err)
		_, _, err = users.IssueKey(t.Context(), bert, identity.Operator(), day(5))
		s.must(err)
		s.must(users.RemoveUser(t.Context(), "bert", identity.Operator()))
	})
	found := s.examine()
	found.want(t, "keys", doctor.Warning, "the key "+soon+" of acme/ci (day) expires at ")
	found.want(t, "keys", doctor.Warning, "admin keys issue acme/ci")
}

// writeCertificates writes a key and self-signed certificates that expire after a number of days each.
func writeCertificates(t *testing.T, days ...int) (file string) {
	t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	evidencetest.Must(t, err)
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	evidencetest.Must(t, err)
	content := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded})
	for i, n := range days {
		template := &x509.Certificate{
			SerialNumber: big.NewInt(int64(i)), Subject: pkix.Name{CommonName: fmt.Sprintf("n%d.example", n)},
			NotBefore: time.Now().AddDate(-1, 0, 0), NotAfter: time.Now().AddDate(0, 0, n),
		}
		certificate, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
		evidencetest.Must(t, err)
		content = append(content, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})...)
	}
	return writeFile(t, content)
}

func writeFile(t *testing.T, content []byte) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "certificates.pem")
	evidencetest.Must(t, os.WriteFile(file, content, 0o600))
	return file
}

func TestCertificatesThatExpireSoonAreReported(t *testing.T) {
	later, soon, over := writeCertificates(t, 31, 400), writeCertificates(t, 400, 29), writeCertificates(t, -1)
	none := writeFile(t, []byte("no certificate"))
	for name, row := range map[string]struct {
		served, clients string
		state           doctor.State
		text            string
	}{
		"none":                   {later, later, doctor.OK, "none expires within 30 days"},
		"no clients":             {later, "", doctor.OK, "none expires within 30 days"},
		"of the chain":           {soon, later, doctor.Warning, "the certificate CN=n29.example of ATTESTRY_TLS_CERT_FILE expires at "},
		"of an authority":        {later, soon, doctor.Warning, "the certificate CN=n29.example of ATTESTRY_TLS_CLIENT_CA_FILE expires at "},
		"one that has expired":   {over, later, doctor.Error, "the certificate CN=n-1.example of ATTESTRY_TLS_CERT_FILE expires at "},
		"a file that is missing": {later, later + "x", doctor.Error, "ATTESTRY_TLS_CLIENT_CA_FILE: open "},
		"no certificate":         {none, later, doctor.Error, "ATTESTRY_TLS_CERT_FILE: tls: failed to find any PEM data"},
		"no authority":           {later, none, doctor.Error, "ATTESTRY_TLS_CLIENT_CA_FILE: has no certificate in PEM"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, "ATTESTRY_TLS_CERT_FILE="+row.served, "ATTESTRY_TLS_KEY_FILE="+row.served)
			if row.clients != "" {
				s.environ = append(s.environ, "ATTESTRY_TLS_CLIENT_CA_FILE="+row.clients, "ATTESTRY_TLS_CLIENT_ACCOUNTS=a.example=acme/a")
			}
			s.examine().want(t, "certificates", row.state, row.text)
		})
	}
	if found := newSite(t).examine()["certificates"]; len(found) > 0 {
		t.Errorf("without HTTPS: %+v", found)
	}
}

func TestParkedAndOverdueWorkIsReported(t *testing.T) {
	s := newSite(t)
	s.record(func(p *process.Process, org evidence.Organization) {
		target := notification.Target{Type: notification.Webhook, Webhook: "https://a.example.com"}
		delivery := notification.NewDelivery(org.ID, 1, &target, notification.Notice{ID: "n"}, 1, 0)
		delivery.Park(20, "The answer has status 503.")
		s.must(p.Store.Deliveries.Add(t.Context(), []notification.Delivery{delivery}))
	})
	s.examine().want(t, "work", doctor.Warning, "delivery:send is parked, 1 or more: The answer has status 503.")
	s = newSite(t)
	s.record(func(p *process.Process, org evidence.Organization) {
		target := notification.Target{Type: notification.Webhook, Webhook: "https://a.example.com"}
		var deliveries []notification.Delivery
		for i := range 150 {
			notice := notification.Notice{ID: fmt.Sprint("n", i)}
			deliveries = append(deliveries, notification.NewDelivery(org.ID, 1, &target, notice, evidence.Seconds(time.Now()), 0))
		}
		s.must(p.Store.Deliveries.Add(t.Context(), deliveries))
	})
	s.examine().want(t, "work", doctor.OK, "100 or more to be done, none parked")
	s = newSite(t)
	wait := func(arrival int64, since time.Duration) {
		s.record(func(p *process.Process, org evidence.Organization) {
			report := snapshot.Canonical(evidence.Server, nil)
			record := environments.WaitingReport{ReportRecord: snapshot.ReportRecord{
				ID: environments.NewReportID(), Org: org.ID, Environment: "env", Arrival: arrival, Type: evidence.Server,
				AcceptedAt: evidence.Seconds(time.Now().Add(-since)),
			}}
			s.must(p.Store.Reports.Pack(t.Context(), &record, &report))
			s.must(p.Store.Reports.Insert(t.Context(), record))
		})
	}
	wait(1, time.Second)
	s.examine().want(t, "work", doctor.OK, "1 to be done, none parked")
	wait(2, time.Hour)
	s.examine().want(t, "work", doctor.Warning, "environment:report has been due for 1h0m")
}

// withLog returns a site with a key for the transparency logs and a log of two facts.
func withLog(t *testing.T) *site {
	t.Helper()
	file := filepath.Join(t.TempDir(), "log.key")
	newKey(t, file)
	s := newSite(t, "ATTESTRY_LOG_KEY_FILE="+file)
	s.record(func(p *process.Process, org evidence.Organization) {
		s.create(p, org, "a", "b")
		s.sequence(p, org)
	})
	return s
}

func newKey(t *testing.T, file string) {
	t.Helper()
	key, err := translog.NewKeyFile()
	if err == nil {
		err = os.WriteFile(file, key, 0o600)
	}
	evidencetest.Must(t, err)
}

func (s *site) create(p *process.Process, org evidence.Organization, names ...string) {
	s.t.Helper()
	for _, name := range names {
		fresh := evidence.Environment{ID: evidence.NewID(), Org: org.ID, Name: name, Type: evidence.Server}
		_, err := p.Store.Environments.Put(s.t.Context(), fresh, evidence.EnvironmentChange{})
		s.must(err)
	}
}

// sequence adds the pending facts to the log, as a worker does.
func (s *site) sequence(p *process.Process, org evidence.Organization) {
	s.t.Helper()
	keys, err := p.Settings.Log.Keys()
	s.must(err)
	worker := sequencer.New(p.Store.Logs, keys, p.Store.Tenancy, "logs.example", p.Clock)
	s.must(worker.Sequence(s.t.Context(), org.ID))
	s.must(worker.Keep(s.t.Context(), p.Store.Retention))
}

func TestLogsAreComparedWithTheirCheckpoints(t *testing.T) {
	for name, row := range map[string]struct {
		damage func(s *site)
		state  doctor.State
		text   string
	}{
		"consistent": {func(*site) {}, doctor.OK, "entries of 1 logs are consistent"},
		"a database that was restored": {func(s *site) {
			backup := filepath.Join(t.TempDir(), "backup")
			s.must(os.CopyFS(backup, os.DirFS(s.folder+"/documents")))
			s.record(func(p *process.Process, org evidence.Organization) {
				s.create(p, org, "c")
				s.sequence(p, org)
			})
			s.must(os.RemoveAll(s.folder + "/documents"))
			s.must(os.CopyFS(s.folder+"/documents", os.DirFS(backup)))
		}, doctor.Error, "and a checkpoint of "},
		"another key":  {func(s *site) { newKey(t, strings.TrimPrefix(s.environ[2], "ATTESTRY_LOG_KEY_FILE=")) }, doctor.Warning, "has signed the last checkpoint of logs.example/acme"},
		"no key":       {func(s *site) { s.environ = s.environ[:2] }, doctor.Warning, "there are 1 logs, and without ATTESTRY_LOG_KEY_FILE they are not continued"},
		"no key there": {func(s *site) { s.must(os.Remove(strings.TrimPrefix(s.environ[2], "ATTESTRY_LOG_KEY_FILE="))) }, doctor.Error, "cannot be read"},
		"facts that are not logged": {func(s *site) {
			s.ahead = -time.Hour
			s.record(func(p *process.Process, org evidence.Organization) { s.create(p, org, "c") })
		}, doctor.Warning, "a fact has waited for 1h0m"},
	} {
		t.Run(name, func(t *testing.T) {
			s := withLog(t)
			row.damage(s)
			s.examine().want(t, "log", row.state, row.text)
		})
	}
}

func TestMemoryBudgetOfARunningServiceIsChecked(t *testing.T) {
	s := newSite(t)
	for variable, state := range map[string]doctor.State{"ATTESTRY_MEMORY_BUDGET=16MiB": doctor.OK, "ATTESTRY_MEMORY_BUDGET=1000TiB": doctor.Warning} {
		s.environ = append(s.environ[:2], variable)
		tested := s.open(s.settings())
		tested.Running = true
		examine(t, tested).want(t, "memory", state, " for requests")
		s.must(tested.Close())
	}
}

func TestDaysUntilTheDiskIsFullAreReported(t *testing.T) {
	s := newSite(t)
	logged := withLog(t)
	s.environ = append(s.environ, logged.environ[2])
	s.ahead = -48 * time.Hour
	logOne := func(name string) {
		s.record(func(p *process.Process, org evidence.Organization) {
			s.create(p, org, name)
			s.sequence(p, org)
		})
	}
	logOne("a")
	s.examine().want(t, "disk", doctor.OK, " 0 B a day as today")
	s.ahead = 0
	logOne("b")
	s.examine().want(t, "disk", doctor.OK, " KiB a day as today; days left: ")
}

func TestMovedDataFolderIsReported(t *testing.T) {
	s := newSite(t)
	tested := s.open(s.settings())
	defer func() { s.must(tested.Close()) }()
	s.must(os.Rename(s.folder+"/objects", s.folder+"/moved"))
	examine(t, tested).want(t, "disk", doctor.Error, "the room in "+s.folder+"/objects: no such file or directory")
}

func TestNearlyFullDiskIsReported(t *testing.T) {
	disk := storagetest.NewDisk(t, 64<<20)
	s := newSite(t)
	s.environ[1] = "ATTESTRY_OBJECTS_URL=file://" + disk.Path
	s.examine().want(t, "disk", doctor.Warning, "64 MiB free")
}
