package resource

import "attestry/storage/governance"

// FileVersion is a version of a file of an organization.
type FileVersion struct {
	Name      string  `json:"name,omitempty" doc:"Left out of a file that an organization has once."`
	Version   int     `json:"version" doc:"0 for an example that comes with the service, or where nothing was stored yet."`
	CreatedAt float64 `json:"created_at" doc:"When this version was stored, Unix seconds; 0 for version 0."`
	CreatedBy string  `json:"created_by"`
	Comment   string  `json:"comment,omitempty" doc:"Lists leave it out, as they do the file."`
	Content   string  `json:"content,omitempty" doc:"The file, in YAML."`
}

// ShowFile shows a version of a file.
func ShowFile(of governance.File) FileVersion {
	return FileVersion{Name: of.Name, Version: of.Version, CreatedAt: of.CreatedAt, CreatedBy: of.CreatedBy, Comment: of.Comment, Content: string(of.Content)}
}

// FilePutInput is the body of an operation that stores the next version of a file.
type FilePutInput struct {
	Content string `json:"content" minLength:"1" maxLength:"262144" doc:"The file, in YAML."`
	Comment string `json:"comment,omitempty" maxLength:"1000" format:"plain-text" doc:"What this version changes."`
}
