package config_test

import (
	"strings"
	"testing"

	"attestry/config"
)

// The keys of a witness, for cosignatures and for other notes.
const (
	witnessKey = "witness.example/w1+7e136b5c+BAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f"
	logKey     = "witness.example/w1+b1e3ec3e+AQABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f"
)

func TestInvalidWitnessesAreRefused(t *testing.T) {
	const (
		address = "has a witness without an address such as https://witness.example before its =, or with a user, a query or a fragment in it"
		key     = "the verifier key of the witness https://w.example "
	)
	for text, want := range map[string]string{
		"https://w.example=" + witnessKey:             "",
		"http://127.0.0.1:8080/prefix/=" + witnessKey: "",
		witnessKey:                                                                  address,
		"w.example=" + witnessKey:                                                   address,
		"ftp://w.example=" + witnessKey:                                             address,
		"https://user:secret@w.example=" + witnessKey:                               address,
		"https://w.example?a=" + witnessKey:                                         address,
		"https://w.example":                                                         key + "is not of the form name+hash+key",
		"https://w.example=w1+00000000":                                             key + "is not of the form name+hash+key",
		"https://w.example=" + logKey:                                               key + "has no key for cosignature/v1 (algorithm 4, Ed25519) behind its hash",
		"https://w.example=" + witnessKey[:60]:                                      key + "has no key for cosignature/v1 (algorithm 4, Ed25519) behind its hash",
		"https://w.example=" + strings.Replace(witnessKey, "w1", "w2", 1):           key + "has a hash that is not the one of its name and key",
		"https://w.example=" + witnessKey + ",":                                     address,
		"https://w.example=" + witnessKey + ", https://other.example=" + witnessKey: "names the witness witness.example/w1 twice",
	} {
		t.Run(text, func(t *testing.T) {
			settings, err := config.Load(environ(map[string]string{"ATTESTRY_LOG_WITNESSES": text}))
			if want == "" {
				if err != nil || len(settings.Log.Witnesses) != 1 || settings.Log.Witnesses.Names()[0] != "witness.example/w1" || strings.HasSuffix(settings.Log.Witnesses[0].Address, "/") {
					t.Errorf("read %+v: %v", settings.Log.Witnesses, err)
				}
				return
			}
			if err == nil || err.Error() != "ATTESTRY_LOG_WITNESSES: "+want {
				t.Errorf("got  %v\nwant %s", err, want)
			}
		})
	}
}
