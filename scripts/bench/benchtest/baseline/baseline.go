// Package baseline is a minimal fiber server, which only reads, decodes and answers requests.
package baseline

import (
	"bytes"
	"net"
	"net/http"

	"github.com/bytedance/sonic"
	"github.com/gofiber/fiber/v2"

	"attestry/api/attestations"
	"attestry/api/environments"
	"attestry/api/pipelines"
)

// Paths of the baseline. Those that decode a request answer 200 and "OK".
const (
	// ReportPath decodes the report of a Kubernetes cluster, sent with PUT.
	ReportPath = "/report"
	// ArtifactPath decodes the report of an artifact, sent with POST.
	ArtifactPath = "/artifact"
	// AttestationPath decodes the form of an attestation, sent with POST.
	AttestationPath = "/attestation"
	// EnvironmentPath decodes the change of an environment, sent with PATCH.
	EnvironmentPath = "/environment"
	// BytesPath is followed by the size of the answer to a GET, in bytes.
	BytesPath = "/bytes/"
)

// bodyLimit is the service's limit for reports, in bytes.
const bodyLimit = 32 << 20

// Server is a running baseline.
type Server struct {
	// Address is host:port.
	Address string

	app    *fiber.App
	served chan error
}

// Start serves the baseline at a free port of the loopback interface.
func Start() (*Server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Server{
		Address: listener.Addr().String(),
		app:     fiber.New(fiber.Config{BodyLimit: bodyLimit, DisableStartupMessage: true}),
		served:  make(chan error, 1),
	}
	s.app.Put(ReportPath, decodeJSON[environments.K8SReport])
	s.app.Post(ArtifactPath, decodeJSON[pipelines.CreateArtifact])
	s.app.Post(AttestationPath, decodeForm)
	s.app.Patch(EnvironmentPath, decodeJSON[environments.UpdateEnvironmentPatchInput])
	s.app.Get(BytesPath+":size", sendBytes)
	go func() { s.served <- s.app.Listener(listener) }()
	return s, nil
}

var strict = sonic.Config{DisallowUnknownFields: true, CaseSensitive: true, ValidateString: true, CopyString: true}.Froze()

func decodeJSON[T any](c *fiber.Ctx) error {
	return answer(c, strict.Unmarshal(c.Body(), new(T)))
}

func decodeForm(c *fiber.Ctx) error {
	return answer(c, sonic.UnmarshalString(c.FormValue("data_json"), new(attestations.GenericAttestationPostInput)))
}

// answer answers "OK", or 400 if the request could not be decoded.
func answer(c *fiber.Ctx, err error) error {
	if err != nil {
		return fiber.NewError(http.StatusBadRequest, err.Error())
	}
	c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
	return c.SendString(`"OK"`)
}

// sendBytes answers with the number of bytes in the path.
func sendBytes(c *fiber.Ctx) error {
	size, err := c.ParamsInt("size")
	if err != nil {
		return answer(c, err)
	}
	return c.Send(bytes.Repeat([]byte(" "), size))
}

// Close ends the baseline after its running requests.
func (s *Server) Close() error {
	if err := s.app.Shutdown(); err != nil {
		return err
	}
	return <-s.served
}
