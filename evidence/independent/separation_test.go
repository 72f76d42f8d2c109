package independent

import (
	"testing"

	"attestry/evidence"
)

func TestDecidersAreComparedWithAuthorsAndApprovers(t *testing.T) {
	reviewed := evidence.Entry{Type: evidence.TypePullRequest, Approvers: 1, Involved: "approved grace\nwrote ada"}
	unknown := evidence.Entry{Type: evidence.TypePullRequest, Involved: "approved grace\nunknown commit a has no author"}
	overridden := reviewed
	overridden.Override = true
	for name, c := range map[string]struct {
		decision evidence.Entry
		author   string
		entries  []evidence.Entry
		lack     string
	}{
		"by somebody else":                {evidence.Entry{Involved: "decided eve"}, "", []evidence.Entry{reviewed}, ""},
		"by an author":                    {evidence.Entry{Involved: "decided ADA"}, "", []evidence.Entry{reviewed}, "ADA decided, and wrote the code"},
		"by an approver":                  {evidence.Entry{Involved: "decided grace"}, "", []evidence.Entry{reviewed}, "grace decided, and approved the code"},
		"by nobody known":                 {evidence.Entry{}, "", []evidence.Entry{reviewed}, "it is not known who decided"},
		"by too long a name":              {evidence.Entry{Involved: "unknown too many had a part in it"}, "", []evidence.Entry{reviewed}, "it is not known who decided"},
		"an override":                     {evidence.Entry{Override: true}, "", nil, ""},
		"of nothing known":                {evidence.Entry{Involved: "decided eve"}, "", nil, "it is not known who wrote and who approved the code"},
		"of an override":                  {evidence.Entry{Involved: "decided eve"}, "", []evidence.Entry{overridden}, "it is not known who wrote and who approved the code"},
		"of an earlier version":           {evidence.Entry{Involved: "decided eve"}, "", []evidence.Entry{{Type: evidence.TypePullRequest, Approvers: 1}}, "it is not known who wrote and who approved the code"},
		"of an unknown author":            {evidence.Entry{Involved: "decided eve"}, "", []evidence.Entry{reviewed, unknown}, "commit a has no author"},
		"of an unknown author first":      {evidence.Entry{Involved: "decided ada"}, "", []evidence.Entry{{Type: evidence.TypePullRequest, Involved: "unknown author"}, reviewed}, "author"},
		"of a machine account":            {evidence.Entry{Involved: "decided eve"}, "svc_deploy", []evidence.Entry{unknown}, ""},
		"of a machine account, approving": {evidence.Entry{Involved: "decided grace"}, "svc_deploy", []evidence.Entry{unknown}, "grace decided, and approved the code"},
	} {
		t.Run(name, func(t *testing.T) {
			contributors := Contributors{Entries: c.entries, Author: c.author}
			if got := contributors.Unseparated(&c.decision); got != c.lack {
				t.Errorf("it lacks %q, want %q", got, c.lack)
			}
		})
	}
}
