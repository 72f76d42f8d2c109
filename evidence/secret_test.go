package evidence_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"attestry/evidence"
)

func TestSecretIsNeverPrinted(t *testing.T) {
	holder := struct{ Key evidence.Secret }{Key: "open-sesame"}
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("started", "settings", holder, "key", holder.Key)
	body, err := json.Marshal(holder)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		fmt.Sprint(holder), fmt.Sprintf("%+v", holder), fmt.Sprintf("%#v", holder), fmt.Sprintf("%q", holder),
		fmt.Sprintf("%x", holder.Key), fmt.Sprint(holder.Key), log.String(), string(body),
	} {
		if strings.Contains(text, "sesame") || strings.Contains(text, fmt.Sprintf("%x", "sesame")) {
			t.Errorf("the secret shows in %s", text)
		}
	}
	if holder.Key.Reveal() != "open-sesame" {
		t.Error("Reveal does not give the secret")
	}
}
