package command

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"

	"attestry/storage"
	"attestry/storage/transfer"
)

// checksum sums up the content of a collection or an object store.
type checksum struct {
	count, bytes int64
	hash         hash.Hash
}

func newChecksum() *checksum { return &checksum{hash: sha256.New()} }

// sum returns the SHA-256 in lower-case hex.
func (c *checksum) sum() string { return hex.EncodeToString(c.hash.Sum(nil)) }

func (c *checksum) equal(other *checksum) bool {
	return c.count == other.count && c.bytes == other.bytes && c.sum() == other.sum()
}

func (c *checksum) addDocument(record *storage.Record) {
	c.count++
	c.bytes += int64(len(record.Body))
	c.addText([]byte(record.ID))
	c.addNumber(record.Revision)
	c.addText([]byte(storage.EncodeFields(record.Fields)))
	c.addText(record.Body)
}

// addObject adds the key, which has the SHA-256 of the content, and the size.
func (c *checksum) addObject(object *storage.Object) {
	c.count++
	c.bytes += object.Size
	c.addText([]byte(object.Key))
	c.addNumber(object.Size)
}

// addText puts the length before the text, so that no two lists of texts are hashed alike.
func (c *checksum) addText(text []byte) {
	c.addNumber(int64(len(text)))
	c.hash.Write(text)
}

func (c *checksum) addNumber(n int64) {
	var bytes [8]byte
	binary.BigEndian.PutUint64(bytes[:], uint64(n))
	c.hash.Write(bytes[:])
}

// checksumOf reads a whole collection.
func checksumOf(ctx context.Context, docs storage.Documents, schema *storage.Schema) (*checksum, error) {
	total := newChecksum()
	for after := ""; ; {
		page, err := transfer.ListDocuments(ctx, docs, schema, after)
		if err != nil || len(page) == 0 {
			return total, err
		}
		for i := range page {
			total.addDocument(&page[i])
		}
		after = page[len(page)-1].ID
	}
}
