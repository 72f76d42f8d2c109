package period

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"

	"attestry/evidence"
)

func TestTheBestOfSeveralPullRequestsCounts(t *testing.T) {
	const ran = 100
	entry := func(id string, at float64, approvers int) evidence.Entry {
		return evidence.Entry{ID: id, Type: evidence.TypePullRequest, Time: at, Approvers: approvers}
	}
	override := func(id string, at float64, compliant bool) evidence.Entry {
		return evidence.Entry{ID: id, Type: evidence.TypePullRequest, Time: at, Override: true, Compliant: compliant}
	}
	approved, late, alone := entry("approved", ran, 1), entry("late", ran+1, 1), entry("alone", 1, 0)
	other := evidence.Entry{ID: "other", Type: evidence.TypeGeneric, Compliant: true, Approvers: 1}
	for name, c := range map[string]struct {
		author  string
		entries []evidence.Entry
		want    Approval
		decides string
	}{
		"nothing":                     {"ada", nil, NoPullRequest, ""},
		"another type":                {"ada", []evidence.Entry{other}, NoPullRequest, ""},
		"nobody approved":             {"ada", []evidence.Entry{alone}, NotApproved, "alone"},
		"approved too late":           {"ada", []evidence.Entry{alone, late}, ApprovedLate, "late"},
		"approved when it started":    {"ada", []evidence.Entry{late, approved, alone}, Approved, "approved"},
		"overridden":                  {"ada", []evidence.Entry{late, override("paper", ran, true)}, Overridden, "paper"},
		"approved and overridden":     {"ada", []evidence.Entry{override("paper", 1, true), approved}, Approved, "approved"},
		"overridden too late":         {"ada", []evidence.Entry{override("paper", ran+1, true)}, NotApproved, "paper"},
		"overridden to non-compliant": {"ada", []evidence.Entry{override("paper", 1, false)}, NotApproved, "paper"},
		"a machine account":           {"dependabot[bot]", []evidence.Entry{alone}, MachineAccount, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, decides := ApprovalOf(c.author, c.entries, ran)
			id := ""
			if decides != nil {
				id = decides.ID
			}
			if got != c.want || id != c.decides {
				t.Errorf("it is %s by %q, want %s by %q", got, id, c.want, c.decides)
			}
		})
	}
}

func TestIncidentBeginsAndEndsAtTheTimesThatItNames(t *testing.T) {
	for name, c := range map[string]struct {
		data string
		want Incident
	}{
		"no data":                        {"", Incident{StartedAt: 500}},
		"no time":                        {`{"started_at":"then","resolved_at":"later"}`, Incident{StartedAt: 500}},
		"resolved in an environment":     {`{"environment":"prod","started_at":"1970-01-01T00:01:40Z","resolved_at":"1970-01-01T00:02:30Z"}`, Incident{"prod", 100, 150}},
		"resolved before it began":       {`{"started_at":"1970-01-01T00:01:40Z","resolved_at":"1970-01-01T00:01:30Z"}`, Incident{StartedAt: 100, ResolvedAt: 100}},
		"resolved before it is recorded": {`{"resolved_at":"1970-01-01T00:01:30Z"}`, Incident{StartedAt: 500, ResolvedAt: 500}},
		"a number for the beginning":     {`{"started_at":7,"environment":"prod"}`, Incident{Environment: "prod", StartedAt: 500}},
	} {
		t.Run(name, func(t *testing.T) {
			a := evidence.Attestation{CreatedAt: 500, Payload: map[string]json.RawMessage{"attestation_data": json.RawMessage(c.data)}}
			if got := IncidentOf(&a); got != c.want {
				t.Errorf("it is %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestPeriodEndsBeforeItsLastBound(t *testing.T) {
	p := Period{Org: "o", Name: "q3", From: 100, To: 200}
	if last := p.Last(); last >= 200 || last < 199.999999 || !p.Open(last) || p.Open(200) || p.Open(201) {
		t.Errorf("its last moment is %v, it is open then: %t", last, p.Open(last))
	}
}

func TestSamplesHaveTheUsualSizeOfAFrequency(t *testing.T) {
	for frequency, want := range map[string]int{"yearly": 1, "quarterly": 2, "monthly": 2, "weekly": 5, "daily": 25, "many_daily": 40, "hourly": 0, "": 0} {
		if got := Sizes[frequency]; got != want {
			t.Errorf("%s: %d, want %d", frequency, got, want)
		}
	}
}

func TestSamplesHaveTheLowestRanksOfEachStratum(t *testing.T) {
	for _, draw := range []Draw{{Seed: "4711", Size: 25}, {Seed: "", Size: 1}, {Seed: "x", Size: 7, By: ByEnvironment}, {Seed: "x", Size: 7, By: ByVerdict}, {Size: 0}, {Size: -1}} {
		sample, ranks := NewSample(draw), map[string][]string{}
		for i := range 5000 {
			environment, verdict, id := fmt.Sprint("env-", i%3), fmt.Sprint("verdict-", i%2), fmt.Sprint("id-", i)
			sample.Add(environment, verdict, id)
			stratum := ""
			switch draw.By {
			case ByEnvironment:
				stratum = environment
			case ByVerdict:
				stratum = verdict
			}
			sum := sha256.Sum256([]byte(draw.Seed + "\n" + id))
			ranks[stratum] = append(ranks[stratum], hex.EncodeToString(sum[:]))
		}
		var want, got []string
		for _, stratum := range slices.Sorted(maps.Keys(ranks)) {
			slices.Sort(ranks[stratum])
			want = append(want, ranks[stratum][:min(max(draw.Size, 0), len(ranks[stratum]))]...)
		}
		for _, one := range sample.Drawn() {
			got = append(got, one.Rank)
		}
		for stratum, all := range ranks {
			if sample.Sizes[stratum] != len(all) {
				t.Errorf("%+v counts %d ids of stratum %q", draw, sample.Sizes[stratum], stratum)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%+v draws %v, want %v", draw, got, want)
		}
	}
}
