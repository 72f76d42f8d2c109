// Package baseline is what the service is compared with.
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

const (
	ReportPath      = "/report"
	ArtifactPath    = "/artifact"
	AttestationPath = "/attestation"
	// ReadPath answers as many bytes as its last segment says.
	ReadPath = "/read/"
	// bareBodyLimit is that of the service's reports, in bytes.
	bareBodyLimit = 32 << 20
)

// Bare is the least that a server written with fiber can do with a request:
// read it, decode it, and answer.
type Bare struct {
	Address string
	app     *fiber.App
	served  chan error
}

func Start() (*Bare, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	b := &Bare{
		Address: listener.Addr().String(),
		app:     fiber.New(fiber.Config{BodyLimit: bareBodyLimit, DisableStartupMessage: true}),
		served:  make(chan error, 1),
	}
	b.app.Put(ReportPath, decodeOnly[environments.K8SReport]())
	b.app.Post(ArtifactPath, decodeOnly[pipelines.CreateArtifact]())
	b.app.Post(AttestationPath, formOnly)
	b.app.Get(ReadPath+":size", sizeOnly)
	go func() { b.served <- b.app.Listener(listener) }()
	return b, nil
}

// decodeOnly decodes with the configuration that the service decodes with.
func decodeOnly[T any]() fiber.Handler {
	strict := sonic.Config{
		DisallowUnknownFields: true,
		CaseSensitive:         true,
		ValidateString:        true,
		CopyString:            true,
	}.Froze()
	return func(c *fiber.Ctx) error {
		value := new(T)
		if err := strict.Unmarshal(c.Body(), value); err != nil {
			return fiber.NewError(http.StatusBadRequest, err.Error())
		}
		c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
		return c.SendString(`"OK"`)
	}
}

// formOnly decodes the data of a form.
func formOnly(c *fiber.Ctx) error {
	var value attestations.GenericAttestationPostInput
	if err := sonic.UnmarshalString(c.FormValue("data_json"), &value); err != nil {
		return fiber.NewError(http.StatusBadRequest, err.Error())
	}
	return c.JSON("OK")
}

// sizeOnly answers text of the wanted size.
func sizeOnly(c *fiber.Ctx) error {
	size, err := c.ParamsInt("size")
	if err != nil {
		return fiber.NewError(http.StatusBadRequest, err.Error())
	}
	return c.Send(bytes.Repeat([]byte(" "), size))
}

func (b *Bare) Close() error {
	if err := b.app.Shutdown(); err != nil {
		return err
	}
	return <-b.served
}
