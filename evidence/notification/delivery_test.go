package notification_test

import (
	"math"
	"testing"
	"time"

	"attestry/evidence/job"
	"attestry/evidence/notification"
)

// newDelivery returns a delivery that is created at time 1000.
func newDelivery() notification.Delivery {
	target := webhook("https://a.example")
	return notification.NewDelivery("org", 7, &target, notification.Notice{ID: "n"}, 1000, 5*time.Second)
}

// try makes an attempt at the time when it is due.
func try(t *testing.T, d *notification.Delivery, reason string, jitter float64) {
	t.Helper()
	at := d.Due
	if !d.Begin(at) {
		t.Fatalf("none begins at %v: %+v", at, d)
	}
	d.End(d.Until, notification.Attempt{At: at, Duration: 0.5, Reason: reason}, jitter)
}

func TestANewDeliveryIsDueAfterTheGrace(t *testing.T) {
	target := webhook("https://a.example")
	d := newDelivery()
	if d.ID != "n.7."+target.ID() || d.State != notification.Pending || d.Due != 1005 || d.Since != 1000 || d.CreatedAt != 1000 {
		t.Errorf("made %+v", d)
	}
}

func TestOnlyOneAttemptIsUnderWay(t *testing.T) {
	d := newDelivery()
	if !d.Begin(1001) || d.Begin(1002) || d.Due != 1001+job.Send.Lease.Seconds() {
		t.Errorf("begun twice: %+v", d)
	}
	if !d.Begin(d.Due) {
		t.Error("an attempt whose process died is not repeated")
	}
	d.End(d.Until, notification.Attempt{At: d.Due}, 0)
	if d.State != notification.Delivered || d.Due != 0 || d.Until != 0 || d.Begin(9999) {
		t.Errorf("not settled: %+v", d)
	}
}

func TestPausesGrowUpToSixHoursForADay(t *testing.T) {
	for _, jitter := range []float64{0, 0.5, math.Nextafter(1, 0)} {
		d := newDelivery()
		mean := 5.0
		for attempts := 1; ; attempts++ {
			try(t, &d, "refused", jitter)
			last := d.Attempts[len(d.Attempts)-1]
			if d.State == notification.Failed {
				latest := d.Since + job.Send.RetryFor.Seconds()
				if d.Due != 0 || last.At > latest || last.At+last.Duration+mean*1.25 < latest || attempts < 9 {
					t.Errorf("jitter %v: failed with attempt %d at %v: %+v", jitter, attempts, last.At, d)
				}
				break
			}
			if pause := d.Due - last.At - last.Duration; pause < mean*0.75-1e-6 || pause > mean*1.25+1e-6 {
				t.Errorf("jitter %v: pause %d is %v, the mean %v", jitter, attempts, pause, mean)
			}
			mean = min(3*mean, (6 * time.Hour).Seconds())
		}
	}
}

func TestARepeatedDeliveryBeginsAnew(t *testing.T) {
	d := newDelivery()
	for d.State == notification.Pending {
		try(t, &d, "refused", 0)
	}
	tried := len(d.Attempts)
	d.Again(500_000, 0)
	if d.State != notification.Pending || d.Due != 500_000 || d.Tried != 0 || d.CreatedAt != 1000 {
		t.Errorf("asked for again: %+v", d)
	}
	try(t, &d, "refused", 0.5)
	if pause := d.Due - 500_000.5; d.State != notification.Pending || pause != 5 || len(d.Attempts) != tried+1 {
		t.Errorf("after another attempt: %+v", d)
	}
	d.Again(500_001, 0)
	if d.Due != 500_001 {
		t.Errorf("a pending one is due at %v", d.Due)
	}
}

func TestRepeatingWaitsForTheAttemptUnderWay(t *testing.T) {
	d := newDelivery()
	d.Begin(1005)
	d.Again(1006, 0)
	if d.Due != d.Until {
		t.Errorf("due at %v, under way until %v", d.Due, d.Until)
	}
}

func TestADeliveryKeepsItsLastAttempts(t *testing.T) {
	d := newDelivery()
	for i := range 30 {
		d.Again(float64(10_000*(i+1)), 0)
		try(t, &d, "", 0)
	}
	if len(d.Attempts) != 25 || d.Attempts[0].At != 60_000 {
		t.Errorf("%d attempts from %v", len(d.Attempts), d.Attempts[0].At)
	}
}

func TestGivingUpEndsADeliveryWithoutParkingIt(t *testing.T) {
	d := newDelivery()
	d.Begin(1005)
	d.GiveUp(1010, "The action was deleted")
	if d.State != notification.Failed || d.Stage() != "" || d.Due != 0 || d.Begin(9999) || d.Attempts[0].Reason != "The action was deleted" {
		t.Errorf("given up: %+v", d)
	}
}

func TestOnlyTheLastAttemptParksADelivery(t *testing.T) {
	for status, want := range map[int]job.Stage{503: job.Parked, 410: ""} {
		d := newDelivery()
		for d.State == notification.Pending {
			d.Begin(d.Due)
			d.End(d.Until, notification.Attempt{At: d.Until, Status: status, Reason: "refused"}, 0)
		}
		if d.State != notification.Failed || d.Stage() != want {
			t.Errorf("after the status %d: %+v", status, d)
		}
		if d.Again(500_000, 0); !d.Begin(500_000) {
			t.Errorf("after the status %d it is not repeated: %+v", status, d)
		}
	}
}

func TestADeliveryWaitsForTheRetryAfterOfItsTarget(t *testing.T) {
	for retryAfter, want := range map[float64]float64{0: 1010.5, 3: 1010.5, 600: 1605.5} {
		d := newDelivery()
		d.Begin(1005)
		d.End(d.Until, notification.Attempt{At: 1005, Duration: 0.5, Reason: "busy", RetryAfter: retryAfter}, 0.5)
		if d.State != notification.Pending || d.Due != want {
			t.Errorf("asked to wait %v s, it is due at %v, want %v", retryAfter, d.Due, want)
		}
	}
}
