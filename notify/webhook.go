package notify

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"attestry/evidence/notification"
)

// callWebhook sends the payload of a notice, with a signature for each secret.
func (s *Sender) callWebhook(
	ctx context.Context, target *notification.Target, delivery *notification.Delivery, secrets []string, at time.Time,
) outcome {
	body, _ := json.Marshal(payloadOf(&delivery.Notice)) // texts and numbers
	signatures, err := sign(secrets, delivery.ID, at, body)
	if err != nil {
		return outcome{reason: "The target has no valid signing secret.", err: err}
	}
	header := http.Header{}
	header.Set(standardwebhooks.HeaderWebhookID, delivery.ID)
	header.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(at.Unix(), 10))
	header.Set(standardwebhooks.HeaderWebhookSignature, signatures)
	return s.post(ctx, target.Webhook, body, header)
}

// sign returns a signature for each secret. There must be at least one.
func sign(secrets []string, id string, at time.Time, body []byte) (string, error) {
	if len(secrets) == 0 {
		return "", errors.New("there is no secret")
	}
	var signatures []string
	for _, secret := range secrets {
		key, err := standardwebhooks.NewWebhook(secret)
		if err != nil || secret == "" {
			return "", errors.New("a secret is not in base64") // the library's error could repeat it
		}
		signature, err := key.Sign(id, at, body)
		if err != nil {
			return "", err
		}
		signatures = append(signatures, signature)
	}
	return strings.Join(signatures, " "), nil
}
