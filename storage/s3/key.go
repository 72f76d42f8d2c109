package s3

import (
	"fmt"
	"strings"

	"attestry/storage"
)

// maxScope bounds the length of a scope, well within what a file name may have.
const maxScope = 128

func objectKey(scope, sum string) string {
	return scope + "/sha256/" + sum[:2] + "/" + sum[2:]
}

// parseKey describes the object a key names, but for its size. Only keys that
// objectKey makes pass, so that none can lead out of its scope.
func parseKey(key string) (storage.Object, error) {
	scope, digest, _ := strings.Cut(key, "/sha256/")
	sum := strings.Replace(digest, "/", "", 1)
	if !validScope(scope) || !validSum(sum) || objectKey(scope, sum) != key {
		return storage.Object{}, fmt.Errorf("invalid object key %q", key)
	}
	return storage.Object{Key: key, SHA256: sum}, nil
}

// validScope admits letters, digits, and behind the first of them also ".", "_"
// and "-".
func validScope(scope string) bool {
	if scope == "" || len(scope) > maxScope || strings.ContainsRune("._-", rune(scope[0])) {
		return false
	}
	return strings.IndexFunc(scope, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r))
	}) < 0
}

func validSum(sum string) bool {
	return len(sum) == 64 && strings.Trim(sum, "0123456789abcdef") == ""
}
