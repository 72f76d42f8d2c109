package web

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"mime"
	"path"

	"github.com/gofiber/fiber/v2"
)

//go:embed static
var staticFiles embed.FS

// assetsPath is where style and script are. No organization can have its name.
const assetsPath = "/-/assets/"

// forever lets browsers keep an asset: its address has a part of its checksum.
const forever = "public, max-age=31536000, immutable"

// mountAssets has the style and the script served, and notes their addresses by name.
func (s *Site) mountAssets() error {
	entries, err := fs.ReadDir(staticFiles, "static")
	if err != nil {
		return fmt.Errorf("read the assets: %w", err)
	}
	for _, entry := range entries {
		content, err := staticFiles.ReadFile("static/" + entry.Name())
		if err != nil {
			return fmt.Errorf("read the assets: %w", err)
		}
		kind := mime.TypeByExtension(path.Ext(entry.Name()))
		s.assets[entry.Name()] = assetsPath + entry.Name() + "?v=" + digestOf(content)
		s.api.Page(fiber.MethodGet, assetsPath+entry.Name(), func(c *fiber.Ctx) error {
			c.Set(fiber.HeaderContentType, kind)
			c.Set(fiber.HeaderCacheControl, forever)
			return c.Send(content)
		})
	}
	return nil
}

// digestOf tells versions of an asset apart.
func digestOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:6])
}
