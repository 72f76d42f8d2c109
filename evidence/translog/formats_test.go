package translog_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"attestry/evidence/translog"
	"attestry/evidence/translog/translogtest"
)

func TestOnlyCheckpointsAreRead(t *testing.T) {
	hash := base64.StdEncoding.EncodeToString(append([]byte{7}, make([]byte, 31)...))
	for name, c := range map[string]struct {
		text string
		size int64 // -1 if it is none
	}{
		"a checkpoint":               {"acme\n12\n" + hash + "\n", 12},
		"of an empty log":            {"acme\n0\n" + hash + "\n", 0},
		"with an extension":          {"acme\n12\n" + hash + "\nmore\n", 12},
		"with signatures":            {"acme\n12\n" + hash + "\n\n— acme abc\n", 12},
		"without an origin":          {"\n12\n" + hash + "\n", -1},
		"without the last break":     {"acme\n12\n" + hash, -1},
		"without a hash":             {"acme\n12\n", -1},
		"a negative size":            {"acme\n-1\n" + hash + "\n", -1},
		"a size with a zero before":  {"acme\n012\n" + hash + "\n", -1},
		"a size with a sign":         {"acme\n+12\n" + hash + "\n", -1},
		"a size that is no number":   {"acme\nx\n" + hash + "\n", -1},
		"a size beyond 64 bits":      {"acme\n9223372036854775808\n" + hash + "\n", -1},
		"a hash of 31 bytes":         {"acme\n12\n" + base64.StdEncoding.EncodeToString(make([]byte, 31)) + "\n", -1},
		"a hash with bits behind it": {"acme\n12\n" + strings.Replace(hash, "A=", "B=", 1) + "\n", -1},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := translog.ParseCheckpoint(c.text)
			if (err != nil) != (c.size < 0) || err == nil && (got.Origin != "acme" || got.Size != c.size || got.Root[0] != 7) {
				t.Errorf("it is read as %+v, %v", got, err)
			}
		})
	}
}

func TestCheckpointMustBeSignedInTheNameOfItsOrigin(t *testing.T) {
	signing := translogtest.NewKeys(t)
	known := signing.Verifiers("acme")
	hash := base64.StdEncoding.EncodeToString(make([]byte, 32))
	for text, want := range map[string]string{
		"acme\n1\n" + hash + "\n": "", "other\n1\n" + hash + "\n": "the key of the log other has not signed", "acme\nx\n" + hash + "\n": "no checkpoint",
	} {
		signed, err := signing.SignText("acme", text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := translog.OpenCheckpoint(signed, known...); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q is opened with %v", text, err)
		}
		if _, err := translog.OpenCheckpoint(signed, "acme+key"); err == nil {
			t.Error("it is opened by what is no key")
		}
	}
}
