package view

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"mime"
	"path"
)

//go:embed static
var staticFiles embed.FS

// assetsPath is where style and script are. No organization can have its name.
const assetsPath = "/-/assets/"

// Asset is a file that pages load.
type Asset struct {
	// Path is where it is, and Address that with a part of its checksum, so that browsers can keep it.
	Path, Address string
	ContentType   string
	Content       []byte
}

// Assets are the style and the script, by their file names.
var Assets = readAssets("attestry.css", "attestry.js")

func readAssets(names ...string) map[string]Asset {
	assets := map[string]Asset{}
	for _, name := range names {
		content, err := staticFiles.ReadFile("static/" + name)
		if err != nil {
			panic(err) // it was there when this was compiled
		}
		sum := sha256.Sum256(content)
		assets[name] = Asset{
			Path: assetsPath + name, Address: assetsPath + name + "?v=" + hex.EncodeToString(sum[:6]),
			ContentType: mime.TypeByExtension(path.Ext(name)), Content: content,
		}
	}
	return assets
}
