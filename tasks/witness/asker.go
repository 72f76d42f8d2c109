// Package witness has witnesses cosign the checkpoints of transparency logs (in a worker), as C2SP tlog-witness says.
package witness

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"attestry/config"
	"attestry/evidence"
	"attestry/evidence/job"
	"attestry/goroutine"
	"attestry/storage"
	"attestry/storage/logs"
)

// timeLimit is how long a witness may take to answer.
const timeLimit = 5 * time.Second

// Reason is why a witness has not cosigned a checkpoint.
type Reason string

// The reasons.
const (
	// Away is a witness that does not answer, or that cannot do now what it is asked.
	Away Reason = "away"
	// Refused is an answer by which the witness does not know the log, or does not trust its key.
	Refused Reason = "refused"
	// Unsigned is an answer without a signature by the key of the witness.
	Unsigned Reason = "unsigned"
	// Fork is an answer by which the witness has cosigned a history that is not the one of the log.
	Fork Reason = "fork"
)

// failure is an answer without a cosignature, or none.
type failure struct {
	reason Reason
	cause  error
}

// Error says what happened.
func (f *failure) Error() string { return f.cause.Error() }

// stale is the answer of a witness that has cosigned another size last than it was told.
type stale struct{ size int64 }

// Error says which size that is.
func (s *stale) Error() string {
	return fmt.Sprintf("the witness has cosigned %d entries, which is another size than it was told", s.size)
}

// Asker asks witnesses.
type Asker struct {
	logs      *logs.Logs
	witnesses config.Witnesses
	client    *http.Client
	clock     evidence.Clock
	log       *slog.Logger
	count     func(witness string, reason Reason)
}

// New makes an asker of witnesses. count is told of each that has not cosigned.
func New(of *logs.Logs, witnesses config.Witnesses, client *http.Client, clock evidence.Clock, log *slog.Logger, count func(witness string, reason Reason)) *Asker {
	return &Asker{logs: of, witnesses: witnesses, client: client, clock: clock, log: log, count: count}
}

// Ask asks, beside one another, those witnesses that have not cosigned the last checkpoint of an organization's log and are
// not to be left alone for now. Each cosignature is published when it arrives.
func (a *Asker) Ask(ctx context.Context, org string) error {
	log, err := a.logs.Get(ctx, org)
	if errors.Is(err, storage.ErrNotFound) || err == nil && log.Signed == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	var group goroutine.Group
	for i := range a.witnesses {
		if known := log.Witnesses[a.witnesses[i].Key.Name()]; known.Size < log.Signed {
			group.Go(func() error { return a.ask(ctx, &log, &a.witnesses[i], known) })
		}
	}
	return group.Wait()
}

// ask asks a witness, unless it is to be left alone, and records what became of it.
func (a *Asker) ask(ctx context.Context, log *logs.Log, witness *config.Witness, known logs.Witness) error {
	name, signature := witness.Key.Name(), ""
	if known.Retry <= evidence.Seconds(a.clock()) {
		var err error
		signature, err = a.cosignature(ctx, log, witness, known.Size)
		var failed *failure
		if err != nil && !errors.As(err, &failed) {
			return err
		}
		if known = (logs.Witness{Size: log.Signed}); failed != nil {
			known = a.failed(log, name, failed)
		}
	}
	return a.logs.Witnessed(ctx, log.Org, log.Signed, name, known, signature, a.witnesses.Names())
}

// failed reports that a witness has not cosigned. It returns what is known of the witness then.
func (a *Asker) failed(log *logs.Log, name string, why *failure) logs.Witness {
	a.count(name, why.reason)
	entry := a.log.With("witness", name, "origin", log.Origin, "size", log.Signed, "reason", string(why.reason), "error", why.Error())
	if why.reason == Fork {
		entry.Error("fork: a witness has cosigned another history of a transparency log")
	} else {
		entry.Warn("a witness has not cosigned a checkpoint and will be asked again")
	}
	known := log.Witnesses[name]
	known.Failed++
	known.Retry = evidence.Seconds(a.clock().Add(job.Cosign.Pause(known.Failed, rand.Float64())))
	return known
}

// cosignature returns the line of a witness's signature of the last checkpoint of a log. The witness should have cosigned a
// size last; if it answers that it was another one, it is asked once more.
func (a *Asker) cosignature(ctx context.Context, log *logs.Log, witness *config.Witness, size int64) (string, error) {
	signature, err := a.post(ctx, log, witness, size)
	var other *stale
	if !errors.As(err, &other) {
		return signature, err
	}
	if other.size > log.Signed {
		return "", &failure{Fork, fmt.Errorf("the witness has cosigned %d entries, the log has a checkpoint of %d", other.size, log.Signed)}
	}
	if signature, err = a.post(ctx, log, witness, other.size); errors.As(err, &other) {
		return "", &failure{Away, err}
	}
	return signature, err
}

// post sends the last checkpoint of a log with the proof that it has all entries of an earlier one.
func (a *Asker) post(ctx context.Context, log *logs.Log, witness *config.Witness, size int64) (string, error) {
	body := fmt.Appendf(nil, "old %d\n", size)
	if size > 0 {
		proof, err := a.logs.Consistency(ctx, log, size)
		if err != nil {
			return "", err
		}
		for _, hash := range proof {
			body = append(base64.StdEncoding.AppendEncode(body, hash[:]), '\n')
		}
	}
	ctx, cancel := context.WithTimeout(ctx, timeLimit)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, witness.Address+"/add-checkpoint", strings.NewReader(string(body)+"\n"+log.Checkpoint))
	if err != nil {
		return "", err
	}
	response, err := a.client.Do(request)
	if err != nil {
		return "", &failure{Away, err}
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return "", &failure{Away, err}
	}
	return read(log, witness, response, string(answer))
}

// read takes the line of the signature from the answer of a witness.
func read(log *logs.Log, witness *config.Witness, response *http.Response, answer string) (string, error) {
	status := fmt.Errorf("the witness answered %s", response.Status)
	switch response.StatusCode {
	case http.StatusOK:
		signature, err := witness.Key.Cosignature(log.Checkpoint, answer)
		if err != nil {
			return "", &failure{Unsigned, err}
		}
		return signature, nil
	case http.StatusConflict:
		size, err := strconv.ParseInt(strings.TrimSuffix(answer, "\n"), 10, 64)
		if response.Header.Get("Content-Type") != "text/x.tlog.size" || err != nil || size < 0 {
			return "", &failure{Away, fmt.Errorf("%w without a size", status)}
		}
		return "", &stale{size}
	case http.StatusUnprocessableEntity:
		return "", &failure{Fork, fmt.Errorf("%w: its last checkpoint is not consistent with this one", status)}
	case http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound:
		return "", &failure{Refused, status}
	}
	return "", &failure{Away, status}
}
