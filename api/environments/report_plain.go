package environments

import "attestry/evidence/snapshot"

// PlainArtifact is one running thing of which no more is told than what it runs
// and since when.
type PlainArtifact struct {
	Digests           Digests `json:"digests"`
	CreationTimestamp int64   `json:"creationTimestamp" doc:"Unix seconds"`
}

// plainArtifact is an artifact of a type of report that tells no more than a
// PlainArtifact. Each type has a component of its own in the document.
type plainArtifact interface{ plain() PlainArtifact }

func checkPlain[A plainArtifact](artifacts []A) bool {
	for _, artifact := range artifacts {
		if a := artifact.plain(); a.CreationTimestamp == 0 || !a.Digests.valid() {
			return false
		}
	}
	return artifacts != nil
}

func plainInstances[A plainArtifact](artifacts []A) []snapshot.Instance {
	instances := make([]snapshot.Instance, 0, len(artifacts))
	for _, artifact := range artifacts {
		a := artifact.plain()
		instances = append(instances, snapshot.Instance{
			Digests:   a.Digests.toMap(),
			CreatedAt: a.CreationTimestamp,
		})
	}
	return instances
}

// ServerReport is the body of server_report (docs/semantics.md 10.1).
type ServerReport struct {
	Type      ReportType       `json:"type,omitempty" enum:"server" default:"server"`
	Artifacts []ServerArtifact `json:"artifacts"`
}

// ServerArtifact is one file or directory.
type ServerArtifact PlainArtifact

func (a ServerArtifact) plain() PlainArtifact { return PlainArtifact(a) }

// Check reports whether the report surely meets its schema.
func (r *ServerReport) Check() bool { return r.Type.matches("server") && checkPlain(r.Artifacts) }

func (r *ServerReport) instances() []snapshot.Instance { return plainInstances(r.Artifacts) }

// DockerReport is the body of docker_report (docs/semantics.md 10.1).
type DockerReport struct {
	Type      ReportType       `json:"type,omitempty" enum:"docker" default:"docker"`
	Artifacts []DockerArtifact `json:"artifacts"`
}

// DockerArtifact is one container.
type DockerArtifact PlainArtifact

func (a DockerArtifact) plain() PlainArtifact { return PlainArtifact(a) }

// Check reports whether the report surely meets its schema.
func (r *DockerReport) Check() bool { return r.Type.matches("docker") && checkPlain(r.Artifacts) }

func (r *DockerReport) instances() []snapshot.Instance { return plainInstances(r.Artifacts) }

// S3Report is the body of s3_report (docs/semantics.md 10.1).
type S3Report struct {
	Type      ReportType   `json:"type,omitempty" enum:"S3" default:"S3"`
	Artifacts []S3Artifact `json:"artifacts"`
}

// S3Artifact is one object, or all of a bucket.
type S3Artifact PlainArtifact

func (a S3Artifact) plain() PlainArtifact { return PlainArtifact(a) }

// Check reports whether the report surely meets its schema.
func (r *S3Report) Check() bool { return r.Type.matches("S3") && checkPlain(r.Artifacts) }

func (r *S3Report) instances() []snapshot.Instance { return plainInstances(r.Artifacts) }

// LambdaReport is the body of lambda_report (docs/semantics.md 10.1).
type LambdaReport struct {
	Type      ReportType       `json:"type,omitempty" enum:"lambda" default:"lambda"`
	Artifacts []LambdaArtifact `json:"artifacts"`
}

// LambdaArtifact is one function.
type LambdaArtifact PlainArtifact

func (a LambdaArtifact) plain() PlainArtifact { return PlainArtifact(a) }

// Check reports whether the report surely meets its schema.
func (r *LambdaReport) Check() bool { return r.Type.matches("lambda") && checkPlain(r.Artifacts) }

func (r *LambdaReport) instances() []snapshot.Instance { return plainInstances(r.Artifacts) }

// ServerlessReport is the body of serverless_report (docs/semantics.md 10.1).
type ServerlessReport struct {
	Type      ReportType           `json:"type,omitempty" enum:"serverless" default:"serverless"`
	Artifacts []ServerlessArtifact `json:"artifacts"`
}

// ServerlessArtifact is one function.
type ServerlessArtifact PlainArtifact

func (a ServerlessArtifact) plain() PlainArtifact { return PlainArtifact(a) }

// Check reports whether the report surely meets its schema.
func (r *ServerlessReport) Check() bool {
	return r.Type.matches("serverless") && checkPlain(r.Artifacts)
}

func (r *ServerlessReport) instances() []snapshot.Instance { return plainInstances(r.Artifacts) }
