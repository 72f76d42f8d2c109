package web

import (
	"slices"
	"strconv"

	"attestry/api/governance"
	"attestry/api/jsonstream"
	"attestry/api/web/request"
	"attestry/api/web/view"
)

const (
	// maxFile and maxColumn bound the shown part of a policy's file, alone and in a comparison, in bytes of HTML.
	maxFile   = 64 << 10
	maxColumn = 32 << 10
	// maxUsers is how many environments that use a policy are listed.
	maxUsers = 50
	// maxDescription bounds the shown part of a description, in bytes of HTML.
	maxDescription = 8 << 10
)

// policyVersion is a version of a policy, in lists without its file.
type policyVersion struct {
	governance.VersionedPolicy
	// Truncated is set if only the beginning of the file is shown.
	Truncated bool `json:"-"`
}

// truncate keeps the beginning of the file, at most limit bytes of HTML.
func (v *policyVersion) truncate(limit int) {
	whole := v.PolicyYAML
	v.PolicyYAML = view.Cut(whole, limit)
	v.Truncated = v.PolicyYAML != whole
}

// storedPolicy has the members of a policy that pages show.
type storedPolicy struct {
	Name         string
	Description  string
	ModifiedAt   float64
	Environments []string
	// Newest is the number of the newest version.
	Newest int
	// Versions and Events are newest first, without files.
	Versions []policyVersion
	Events   []governance.PolicyEvent
	// newest and wanted are the versions whose files are kept.
	newest policyVersion
	wanted map[int]*policyVersion
}

type policiesPage struct {
	Org      string
	Policies []storedPolicy
	Pager    request.Pager
}

func (s *Site) showPolicies(p *page) error {
	p.APIPath = request.Target("/policies/%s", p.Org())
	var found []storedPolicy
	err := p.Read(p.APIPath, func(decoder *jsonstream.Decoder) error {
		return decoder.EachElement(func() error {
			var one storedPolicy
			err := one.decode(decoder)
			one.Versions, one.Events, one.newest = nil, nil, policyVersion{}
			found = append(found, one)
			return err
		})
	})
	if err != nil {
		return err
	}
	shown := policiesPage{Org: p.Org()}
	shown.Policies, shown.Pager = request.Cut(p.Request, found)
	return p.Render("policies", "Policies", shown)
}

type policyPage struct {
	Org    string
	Policy storedPolicy
	// File is the newest version. If the query has Left and Right, they are compared instead.
	File        *policyVersion
	Compared    bool
	Left, Right comparedVersion
	Users       []string
	More        int // how many environments are not named
	Versions    []policyVersion
	// Logged are the entries of the transparency log, by version.
	Logged map[int]*request.Logged
	Pager  request.Pager
	Events []governance.PolicyEvent
	JSON   string
}

// comparedVersion is one of two compared versions. Version is nil if the number does not exist.
type comparedVersion struct {
	Number  int
	Version *policyVersion
}

func (s *Site) showPolicy(p *page) error {
	name := p.Parameter("policy")
	shown := policyPage{Org: p.Org(), Left: p.comparedVersion("left"), Right: p.comparedVersion("right")}
	shown.Compared = shown.Left.Number > 0 && shown.Right.Number > 0
	if err := p.getPolicy(&shown.Policy, name, shown.Left.Number, shown.Right.Number); err != nil {
		return err
	}
	shown.JSON = p.APIAddress()
	shown.arrange(p)
	var err error
	if shown.Logged, err = request.LoggedVersions(p.Request, "policy", name, shown.Versions, func(v *policyVersion) int { return v.Version }); err != nil {
		return err
	}
	return p.Render("policy", name, &shown)
}

func (p *page) comparedVersion(parameter string) comparedVersion {
	number, _ := strconv.Atoi(p.C.Query(parameter))
	return comparedVersion{Number: max(0, number)}
}

// getPolicy reads a policy with the files of the newest version and of some others.
func (p *page) getPolicy(into *storedPolicy, name string, wanted ...int) error {
	into.wanted = map[int]*policyVersion{}
	for _, number := range wanted {
		into.wanted[number] = nil
	}
	p.APIPath = request.Target("/policies/%s/%s", p.Org(), name)
	return p.Read(p.APIPath, into.decode)
}

// arrange selects and truncates what the page shows.
func (s *policyPage) arrange(p *page) {
	stored := &s.Policy
	stored.Description = view.Cut(stored.Description, maxDescription)
	s.Users, s.More = first(stored.Environments, maxUsers)
	s.Versions, s.Pager = request.Cut(p.Request, stored.Versions)
	s.Events, _ = first(stored.Events, view.RowsPerPage)
	for _, one := range []*comparedVersion{&s.Left, &s.Right} {
		if one.Version = stored.wanted[one.Number]; one.Version != nil {
			one.Version.truncate(maxColumn)
		}
	}
	if s.Compared {
		return
	}
	s.Right.Number = stored.newest.Version
	s.Left.Number = max(1, s.Right.Number-1)
	s.File = &stored.newest
	s.File.truncate(maxFile)
}

// decode reads a policy. Files and long comments of its versions, which may be many, are not kept.
func (s *storedPolicy) decode(decoder *jsonstream.Decoder) error {
	err := decoder.Object(map[string]any{
		"name": &s.Name, "description": &s.Description, "last_modified_at": &s.ModifiedAt, "consuming_envs": &s.Environments,
		"events": &s.Events, "versions": jsonstream.Elements(decoder, s.addVersion),
	})
	slices.Reverse(s.Versions)
	slices.Reverse(s.Events)
	return err
}

func (s *storedPolicy) addVersion(one policyVersion) error {
	s.Newest, s.newest = one.Version, one
	if _, ok := s.wanted[one.Version]; ok {
		s.wanted[one.Version] = new(one)
	}
	one.PolicyYAML, one.Comment = "", view.Excerpt(one.Comment)
	s.Versions = append(s.Versions, one)
	return nil
}
