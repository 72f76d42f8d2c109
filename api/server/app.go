// Package server is the HTTP interface: the middleware of all requests (limits, identity, validation, errors, metrics),
// and the functions that turn a handler into an operation.
package server

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humafiber"
	"github.com/gofiber/fiber/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/valyala/fasthttp"

	"attestry/api/access"
	"attestry/api/examples"
	"attestry/api/framing"
	"attestry/api/memory"
	"attestry/api/validation"
	"attestry/evidence"
	"attestry/goroutine"
	"attestry/links"
	"attestry/monitor"
)

const (
	// readTimeout bounds the arrival of a request: 32 MiB at half a MiB a second.
	readTimeout = 64 * time.Second
	// writeTimeout bounds the sending of an answer, large packages included.
	writeTimeout = 10 * time.Minute
	// idleTimeout outlasts the keep-alive of common proxies (60 s), so that the proxy closes first.
	idleTimeout = 75 * time.Second
	// headerLimit bounds the header of a request, in bytes.
	headerLimit = 16 << 10
	// defaultRequestTimeout bounds the work on a request.
	defaultRequestTimeout = 30 * time.Second
	// defaultShutdownTimeout exceeds the longest wait for a report's verdict, 10 s.
	defaultShutdownTimeout = 15 * time.Second
)

// Deps are the dependencies and settings of a Server.
type Deps struct {
	// BaseURL is scheme and host as clients see them, without a path.
	BaseURL    string
	Clock      evidence.Clock
	Logger     *slog.Logger
	Registerer prometheus.Registerer
	Gate       *access.Gate
	// Session returns the user that the pages' session cookie names, or an evidence.Unauthorized error if nobody is
	// signed in. nil if there are no pages.
	Session func(c *fiber.Ctx) (evidence.Principal, error)
	// Checks are the dependencies that /ready checks.
	Checks []monitor.Check
	// RequestTimeout bounds the work on a request; 0 means 30 s.
	RequestTimeout time.Duration
	// ShutdownTimeout bounds the requests in flight once the context of Serve has ended; 0 means 15 s.
	ShutdownTimeout time.Duration
	// MemoryBudget bounds the bodies and answers of all requests in flight, in bytes; 0 means memory.DefaultTotal.
	MemoryBudget int64
}

// Server answers the API over HTTP.
type Server struct {
	Deps
	app *fiber.App
	// inner is fiber's handler, which guard calls.
	inner            fasthttp.RequestHandler
	api              huma.API
	registry         huma.Registry
	validator        *validation.Validator
	examples         map[string]examples.Example
	operations       map[string]Operation
	documented       map[string]*huma.Operation // by their ids
	metrics          *metrics
	links            links.Links
	readiness        *monitor.Readiness
	draining         atomic.Bool
	budget           *memory.Budget
	batchBytes       int
	pace             readRate
	anonymousTimeout time.Duration
}

func (d *Deps) budget() int64 { return cmp.Or(d.MemoryBudget, memory.DefaultTotal()) }

// BatchBytes is the size of the batches that lists read, in bytes.
func (d *Deps) BatchBytes() int { return batchBytes(d.budget()) }

// batchBytes is small enough for many answers to fit the budget, and large enough for most lists to be one batch.
func batchBytes(budget int64) int {
	const least, most = 256 << 10, 4 << 20
	return int(min(max(budget/64, least), most))
}

// New returns a server of the routes of a table. It fails if the table or a setting is not valid.
func New(deps Deps, table []Route) (*Server, error) {
	addresses := links.Links{Base: deps.BaseURL}
	budget := memory.NewBudget(deps.budget())
	shown, err := examples.All()
	if err != nil {
		return nil, err
	}
	deps.RequestTimeout = cmp.Or(deps.RequestTimeout, defaultRequestTimeout)
	deps.ShutdownTimeout = cmp.Or(deps.ShutdownTimeout, defaultShutdownTimeout)
	s := &Server{
		Deps:             deps,
		examples:         shown,
		operations:       map[string]Operation{},
		documented:       map[string]*huma.Operation{},
		metrics:          newMetrics(deps.Registerer, budget),
		links:            addresses,
		readiness:        monitor.NewReadiness(deps.Checks, deps.Clock),
		budget:           budget,
		batchBytes:       batchBytes(budget.Total()),
		pace:             defaultReadRate(),
		anonymousTimeout: anonymousTimeout,
	}
	s.app = newApp(s)
	s.api = humafiber.NewWithGroup(s.app, headRouter{s.app.Group(links.Prefix)}, describe(addresses))
	s.api.OpenAPI().OnAddOperation = []huma.AddOpFunc{func(_ *huma.OpenAPI, op *huma.Operation) { s.documented[op.OperationID] = op }}
	s.registry = s.api.OpenAPI().Components.Schemas
	s.validator = validation.NewValidator(s.registry)
	return s, s.serve(table)
}

func newApp(s *Server) *fiber.App {
	app := fiber.New(fiber.Config{
		AppName:                      "Attestry",
		Immutable:                    true,
		StreamRequestBody:            true,
		DisablePreParseMultipartForm: true,
		CaseSensitive:                true,
		StrictRouting:                true,
		DisableStartupMessage:        true,
		ReadBufferSize:               headerLimit,
		ReadTimeout:                  readTimeout,
		WriteTimeout:                 writeTimeout,
		IdleTimeout:                  idleTimeout,
		// It flushes each answer before the next pipelined request is read. The client must not get 100 Continue for
		// a request before the answer to the previous one.
		ReduceMemoryUsage: true,
		ErrorHandler:      s.fail,
	})
	s.inner = app.Server().Handler
	app.Server().HeaderReceived = framing.WithholdBody
	app.Server().Handler = s.guard(app.Config().RequestMethods, s.inner)
	app.Server().CloseOnShutdown = true // answers during the shutdown have Connection: close
	app.Use(s.observe)
	app.Use(joinNames)
	return app
}

// serve registers the operations, then /ready and the documents, which describe the operations.
func (s *Server) serve(table []Route) error {
	for _, route := range inOrder(table) {
		if err := route.Serve(s, route); err != nil {
			return err
		}
	}
	s.serveOwn("/ready", s.ready)
	return s.serveDocuments()
}

// joinNames turns names with slashes, of repositories and tiles of logs, into one segment of the path.
func joinNames(c *fiber.Ctx) error {
	if method := c.Method(); method == fiber.MethodGet || method == fiber.MethodHead {
		c.Path(framing.LogPath(framing.RepoPath(c.Path())))
	}
	return c.Next()
}

// headRouter answers HEAD wherever it answers GET.
type headRouter struct{ fiber.Router }

func (r headRouter) Add(method, path string, served ...fiber.Handler) fiber.Router {
	if method == fiber.MethodGet {
		r.Router.Add(fiber.MethodHead, path, served...)
	}
	return r.Router.Add(method, path, served...)
}

// jsonFormat sends an answer that beginAnswer has begun. It encodes others without escaping HTML or a final newline.
func jsonFormat() huma.Format {
	return huma.Format{
		Marshal: func(w io.Writer, value any) error {
			if begun, ok := value.(*jsonAnswer); ok {
				return begun.send(w)
			}
			var buffer bytes.Buffer
			encoder := json.NewEncoder(&buffer)
			encoder.SetEscapeHTML(false)
			if err := encoder.Encode(value); err != nil {
				return err
			}
			_, err := w.Write(bytes.TrimSuffix(buffer.Bytes(), []byte("\n")))
			return err
		},
		Unmarshal: json.Unmarshal,
	}
}

// Serve serves on a listener until ctx ends, then waits for the requests in flight. It closes the listener.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	served := make(chan error, 1)
	goroutine.Start(func() error {
		return s.app.Listener(framing.Listener{Listener: listener, FirstRead: readTimeout})
	}, func(err error) { served <- err })
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	timeout, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.ShutdownTimeout)
	defer cancel()
	err := s.app.ShutdownWithContext(timeout)
	if errors.Is(err, context.DeadlineExceeded) {
		// A client that never ends its request must not make the stop fail.
		s.Logger.WarnContext(ctx, "stopped with requests under way", slog.String("after", s.ShutdownTimeout.String()))
		return nil
	}
	if err != nil {
		return fmt.Errorf("shut down: %w", err)
	}
	// fiber does not close the listener if it is shut down before it gets the listener.
	if err := listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("close listener: %w", err)
	}
	return <-served
}

// Drain makes /ready fail, so that load balancers send no more requests.
func (s *Server) Drain() { s.draining.Store(true) }

// ready is the public readiness probe: `OK`, or 503 while the process ends or a required store does not answer or
// refuses writes. Causes are shown to operators only, on the monitoring port.
func (s *Server) ready(c *fiber.Ctx) error {
	if s.draining.Load() {
		return retryable(newProblem(http.StatusServiceUnavailable, "Not ready: The process is stopping."), time.Second)
	}
	states, ready := s.readiness.States(c.UserContext())
	if ready {
		c.Set(fiber.HeaderContentType, fiber.MIMETextPlainCharsetUTF8)
		return c.SendString("OK")
	}
	message := "Not ready:"
	for _, state := range states {
		if state.Required && !state.Ready {
			message += " " + state.Message
		}
	}
	return retryable(newProblem(http.StatusServiceUnavailable, message), time.Second)
}
