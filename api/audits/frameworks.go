package audits

import (
	"context"
	"errors"
	"slices"
	"strings"

	"attestry/api/resource"
	"attestry/api/server"
	"attestry/app/population"
	"attestry/evidence"
	"attestry/evidence/framework"
	"attestry/evidence/period"
	"attestry/storage"
	"attestry/storage/governance"
)

// listFrameworks lists the frameworks of the organization, and the shipped examples with other names.
func (h *handlers) listFrameworks(ctx context.Context, _ *server.OrgPath) (*server.Answer[[]resource.FileVersion], error) {
	found, err := h.Frameworks.List(ctx, server.Access(ctx).OrgID)
	shown := resource.Map(found, func(of *governance.Framework) resource.FileVersion { return resource.ShowFile(of.File) })
	for name := range framework.Shipped {
		if !slices.ContainsFunc(shown, func(one resource.FileVersion) bool { return one.Name == name }) {
			shown = append(shown, resource.FileVersion{Name: name})
		}
	}
	slices.SortFunc(shown, func(a, b resource.FileVersion) int { return strings.Compare(a.Name, b.Name) })
	return server.Answered(shown), err
}

// FrameworkPath is the path of an operation on a framework.
type FrameworkPath struct {
	server.OrgPath
	Name string `path:"framework_name" minLength:"1" maxLength:"255" pattern:"^[a-zA-Z0-9][a-zA-Z0-9\\-_.~]*$"`
}

type getFrameworkInput struct {
	FrameworkPath
	Version int `query:"version" minimum:"0" doc:"The latest unless given."`
}

func (h *handlers) getFramework(ctx context.Context, in *getFrameworkInput) (*server.Answer[resource.FileVersion], error) {
	found, err := h.loadFramework(ctx, in.Name, in.Version)
	return server.Answered(resource.ShowFile(found.File)), err
}

// loadFramework reads a version of a framework, 0 for the latest. If none is stored, the latest is the shipped example.
func (h *handlers) loadFramework(ctx context.Context, name string, version int) (found governance.Framework, err error) {
	org := server.Access(ctx)
	if version > 0 {
		found, err = h.Frameworks.Version(ctx, org.OrgID, name, version)
		return found, resource.NotFound(err, "Version %d of framework '%s' does not exist for organization '%s'", version, name, org.OrgName)
	}
	found, err = h.Frameworks.Latest(ctx, org.OrgID, name)
	if example := framework.Shipped[name]; errors.Is(err, storage.ErrNotFound) && example != nil {
		return governance.Framework{File: governance.File{Name: name, Content: example}}, nil
	}
	return found, resource.NotFound(err, "Framework named '%s' does not exist for organization '%s'", name, org.OrgName)
}

// putFramework stores the next version of a framework. Only controls that the latest version does not name must exist.
func (h *handlers) putFramework(ctx context.Context, in *FrameworkPath, body *resource.FilePutInput) (*server.Answer[resource.FileVersion], error) {
	org := server.Access(ctx)
	parsed, err := framework.Parse([]byte(body.Content))
	if err != nil {
		return nil, resource.FileFault("content", err)
	}
	latest, err := h.Frameworks.Latest(ctx, org.OrgID, in.Name)
	if storage.IgnoreMissing(err) != nil {
		return nil, err
	}
	known, _ := framework.Parse(latest.Content) // without controls if there is none
	if err := h.CheckControls(ctx, "content", parsed.Controls(), known.Controls()); err != nil {
		return nil, err
	}
	stored, err := h.Frameworks.Put(ctx, governance.Framework{File: governance.File{
		Org: org.OrgID, Name: in.Name, Content: []byte(body.Content), Comment: body.Comment,
		CreatedAt: evidence.Seconds(h.Clock()), CreatedBy: server.Principal(ctx).Name,
	}})
	return server.Answered(resource.ShowFile(stored.File)), err
}

type assessInput struct {
	resource.AuditPath
	Framework string `query:"framework" required:"true" doc:"The name of a framework of the organization, or of an example."`
	Version   int    `query:"framework_version" minimum:"0" doc:"The latest unless given."`
}

// AssessmentResponse is the assessment of an audit's period by a framework.
type AssessmentResponse struct {
	Framework resource.FileVersion `json:"framework"`
	population.Assessment
}

func (h *handlers) assess(ctx context.Context, in *assessInput, p period.Period) (*server.Answer[AssessmentResponse], error) {
	found, err := h.loadFramework(ctx, in.Framework, in.Version)
	if err != nil {
		return nil, err
	}
	parsed, err := found.Parse()
	if err != nil {
		return nil, err
	}
	survey := h.population.NewSurvey(&p, parsed)
	if err := survey.Each(ctx, func(*population.Row) {}); err != nil {
		return nil, err
	}
	assessed, err := survey.Assessments(ctx, evidence.Seconds(h.Clock()))
	if err != nil {
		return nil, err
	}
	found.Content = nil
	return server.Answered(AssessmentResponse{Framework: resource.ShowFile(found.File), Assessment: assessed[0]}), nil
}

func (h *handlers) downloadAssessment(ctx context.Context, in *assessInput, p period.Period) (*server.StreamOutput, error) {
	answer, err := h.assess(ctx, in, p)
	if err != nil {
		return nil, err
	}
	return h.StreamCSV(ctx, p.Name+"-"+in.Framework+".csv", population.RequirementColumns, func(context.Context, string) ([][]string, string, error) {
		return answer.Body.Lines(), "", nil
	})
}
