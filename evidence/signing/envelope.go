package signing

import (
	"crypto"
	"crypto/sha256"
	"fmt"
)

// Envelope is a DSSE envelope, version 1.
type Envelope struct {
	Payload     []byte      `json:"payload" doc:"What is signed, in base64."`
	PayloadType string      `json:"payloadType" doc:"Media type of the payload."`
	Signatures  []Signature `json:"signatures"`
}

// Signature is a signature of an envelope. It has no key id, because verifiers expect different forms of it.
type Signature struct {
	Sig []byte `json:"sig" doc:"ECDSA signature of the DSSE pre-authentication encoding, ASN.1, in base64."`
}

// Bundle is an envelope as a Sigstore bundle, with a key identifier.
type Bundle struct {
	MediaType            string               `json:"mediaType"`
	VerificationMaterial VerificationMaterial `json:"verificationMaterial"`
	DSSEEnvelope         Envelope             `json:"dsseEnvelope"`
}

// VerificationMaterial identifies the key of a bundle.
type VerificationMaterial struct {
	PublicKey KeyIdentifier `json:"publicKey"`
}

// KeyIdentifier identifies a key.
type KeyIdentifier struct {
	Hint string `json:"hint" doc:"SHA-256 of the public key in DER form, in base64."`
}

// Sign makes an envelope of a payload of a media type. Signatures are deterministic (RFC 6979).
func (k *Key) Sign(payloadType string, payload []byte) (Envelope, error) {
	// The pre-authentication encoding of DSSE: the lengths keep type and payload apart.
	digest := sha256.Sum256(fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(payloadType), payloadType, len(payload), payload))
	signature, err := k.private.Sign(nil, digest[:], crypto.SHA256)
	if err != nil {
		return Envelope{}, fmt.Errorf("sign: %w", err)
	}
	return Envelope{Payload: payload, PayloadType: payloadType, Signatures: []Signature{{Sig: signature}}}, nil
}

// Bundle makes a bundle of a payload of a media type.
func (k *Key) Bundle(payloadType string, payload []byte) (Bundle, error) {
	envelope, err := k.Sign(payloadType, payload)
	return Bundle{
		MediaType: "application/vnd.dev.sigstore.bundle.v0.3+json", DSSEEnvelope: envelope,
		VerificationMaterial: VerificationMaterial{PublicKey: KeyIdentifier{Hint: k.Hint()}},
	}, err
}
