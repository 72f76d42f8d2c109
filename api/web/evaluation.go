package web

import (
	"cmp"
	"encoding/json"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"

	"attestry/api/governance"
	"attestry/api/jsonstream"
	"attestry/api/server"
	"attestry/api/web/form"
	"attestry/api/web/request"
	"attestry/api/web/view"
)

// maxEvaluated is how many explanations of one artifact the result of a dry run shows.
const maxEvaluated = 5

// evaluation is the result of a dry run of a policy file in an environment.
type evaluation struct {
	// Changes counts artifacts by the API's kind of change.
	Changes map[string]int
	// Shown are the first artifacts that would change or not be compliant. Told counts all that the API lists.
	Shown []governance.EvaluatedArtifact
	Told  int
}

// evaluationPage is the form of a dry run, and its result.
type evaluationPage struct {
	Org, Policy  string
	Environment  string
	Filename     string
	Environments []string // those that use the policy
	Failed       string
	Details      map[string]string
	Result       *evaluation
}

// newEvaluation is the form before it is sent. The policy has to exist.
func (p *page) newEvaluation() (evaluationPage, error) {
	var stored storedPolicy
	if err := p.getPolicy(&stored, p.Parameter("policy")); err != nil {
		return evaluationPage{}, err
	}
	p.APIPath = "" // no GET of the API has this answer
	return evaluationPage{Org: p.Org(), Policy: stored.Name, Environments: stored.Environments}, nil
}

func (s *Site) showEvaluation(p *page) error {
	shown, err := p.newEvaluation()
	if err != nil {
		return err
	}
	shown.Environment = p.C.Query("environment")
	return p.renderEvaluation(&shown)
}

// evaluatePolicy shows the verdict of the form's file on the running artifacts of an environment. If the policy is
// attached there, the file counts as its next version, else as an additional policy.
func (s *Site) evaluatePolicy(p *page) error {
	shown, err := p.newEvaluation()
	if err != nil {
		return err
	}
	shown.Environment = strings.TrimSpace(p.C.FormValue("environment"))
	file, err := p.C.FormFile("policy_file")
	if err != nil { // the form has no file, or is not multipart
		shown.Failed = "Please choose a file."
		p.C.Status(http.StatusBadRequest)
		return p.renderEvaluation(&shown)
	}
	shown.Filename = file.Filename
	var found struct{ Name string } // the form may have a former name
	err = p.Get(request.Target("/environments/%s/%s", shown.Org, shown.Environment), &found)
	if err != nil && !request.IsRefused(err, http.StatusNotFound) { // the operation answers that there is none
		return err
	}
	shown.Environment = cmp.Or(found.Name, shown.Environment)
	query, err := evaluationQuery(&shown, file)
	if err != nil {
		return err
	}
	shown.Result = &evaluation{}
	err = p.Ask(query, func(answer *server.PageAnswer) error {
		return shown.Result.decode(jsonstream.NewDecoder(answer.Body()))
	})
	if refused, ok := p.PassOn(err); ok {
		shown.Result, shown.Failed, shown.Details, err = nil, refused.Message, refused.Errors, nil
	}
	if err != nil {
		return err
	}
	return p.renderEvaluation(&shown)
}

func (p *page) renderEvaluation(shown *evaluationPage) error {
	shown.Environments, _ = first(shown.Environments, maxUsers)
	return p.Render("evaluation", "Try a file for "+shown.Policy, shown)
}

// evaluationQuery converts the form to the API's.
func evaluationQuery(shown *evaluationPage, file *multipart.FileHeader) (server.PageQuery, error) {
	data := map[string]string{"environment_name": shown.Environment}
	if slices.Contains(shown.Environments, shown.Environment) {
		data["policy_name"] = shown.Policy
	}
	payload, _ := json.Marshal(data) // texts
	content, err := file.Open()
	if err != nil {
		return server.PageQuery{}, err
	}
	defer content.Close()
	query := server.PageQuery{Method: http.MethodPost, Target: request.Target("/policies/%s/evaluate", shown.Org)}
	query.ContentType, query.Body, err = form.Multipart("payload", payload, form.File{Part: "policy_file", Name: file.Filename, Content: content})
	return query, err
}

// decode reads the result, and keeps only what a page shows.
func (e *evaluation) decode(decoder *jsonstream.Decoder) error {
	var leftOut map[string]int
	e.Changes = map[string]int{}
	err := decoder.Object(map[string]any{"artifacts": jsonstream.Elements(decoder, e.add), "artifacts_left_out": &leftOut})
	for change, number := range leftOut {
		e.Changes[change] += number
	}
	return err
}

func (e *evaluation) add(one governance.EvaluatedArtifact) error {
	e.Changes[one.Change]++
	if one.Then && one.Change == "unchanged" {
		return nil
	}
	if e.Told++; len(e.Shown) == view.RowsPerPage {
		return nil
	}
	var more int
	one.Explanation, more = first(one.Explanation, maxEvaluated)
	one.LeftOut += more
	one.Explanation = slices.Clone(one.Explanation) // frees the others
	e.Shown = append(e.Shown, one)
	return nil
}
