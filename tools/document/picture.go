package document

import (
	"bytes"
	"fmt"
	"image"
	_ "image/gif"  // only their headers are read, to learn the size
	_ "image/jpeg" // the same
	_ "image/png"  // the same
	"strings"

	_ "golang.org/x/image/webp" // the same

	"nod/tools"
)

// Picture describes a picture without looking at it.
type Picture struct {
	Words     string // such as a picture (png, 3 × 2 pixels, 1 KB)
	Extension string
}

// PictureOf reads the header of a picture. The picture is not decoded: a small
// file can be one of many gigabytes. An error is a *[tools.Refusal].
func PictureOf(mediaType string, body []byte) (Picture, error) {
	extension, ok := map[string]string{"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp"}[mediaType]
	if !ok {
		return Picture{}, tools.Refuse("it is a picture of type %s; only PNG, JPEG, GIF and WebP can be looked at", mediaType)
	}
	size, _, err := image.DecodeConfig(bytes.NewReader(body))
	if err != nil {
		return Picture{}, tools.Refuse("it is a broken picture")
	}
	if size.Width*size.Height > 100_000_000 {
		return Picture{}, tools.Refuse("it is a picture of %d × %d pixels, which is too large", size.Width, size.Height)
	}
	words := fmt.Sprintf("a picture (%s, %d × %d pixels, %d KB)",
		strings.TrimPrefix(mediaType, "image/"), size.Width, size.Height, (len(body)+1023)>>10)
	return Picture{Words: words, Extension: extension}, nil
}
