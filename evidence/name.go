package evidence

// MaxResourceName is how many characters the name of a flow, trail, attestation,
// artifact of a template, environment or attestation type may have.
const MaxResourceName = 255
