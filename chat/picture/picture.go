// Package picture reads pictures for models. What a platform or a tool says of a picture's
// type may be wrong: only its bytes tell.
package picture

import (
	"bytes"
	"image"
	_ "image/gif" // one of the forms that are read
	"image/jpeg"
	"image/png"
	"strings"

	_ "golang.org/x/image/bmp" // one of the forms that are read
	"golang.org/x/image/draw"
	_ "golang.org/x/image/tiff" // one of the forms that are read
	_ "golang.org/x/image/webp" // one of the forms that are read

	"nod/chat"
)

// Bounds of a picture for a model. Providers scale larger ones down by themselves, or
// refuse them: https://docs.anthropic.com/en/docs/build-with-claude/vision
const (
	mostSide   = 2048       // pixels
	mostBytes  = 3_500_000  // 5 MB in base64, with room
	mostPixels = 64_000_000 // to be decoded
	quality    = 85         // of JPEG
)

// unknown is the type of bytes that are no picture.
const unknown = "application/octet-stream"

// Type is the media type of a file that is said to be of another. A picture whose header
// can't be read is none.
func Type(data []byte, said string) string {
	kind, _, _ := strings.Cut(strings.ToLower(said), ";")
	if !strings.HasPrefix(kind, "image/") && kind != "" && !strings.HasSuffix(kind, "/octet-stream") { // S3 says binary/
		return said
	}
	if _, form, ok := header(data); ok {
		return form
	}
	if chat.Pictured(kind) || kind == "image/jpg" {
		return unknown
	}
	return said
}

func header(data []byte) (size image.Config, mediaType string, ok bool) {
	size, form, err := image.DecodeConfig(bytes.NewReader(data))
	return size, "image/" + form, err == nil && size.Width > 0 && size.Height > 0 && size.Height <= mostPixels/size.Width
}

// Fit is a picture as models take it: PNG, JPEG, GIF or WebP, and not too large. ok is
// false for bytes that are no picture, or too many of one.
func Fit(data []byte) (out []byte, mediaType string, ok bool) {
	size, form, ok := header(data)
	switch {
	case !ok:
		return nil, "", false
	case form != "image/bmp" && form != "image/tiff" && max(size.Width, size.Height) <= mostSide && len(data) <= mostBytes:
		return data, form, true
	}
	src, _, err := image.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, "", false
	}
	for side := mostSide; side >= 16; side /= 2 {
		if out, mediaType, err = encode(scaled(src, side)); err != nil || len(out) <= mostBytes {
			break
		}
	}
	return out, mediaType, err == nil && len(out) <= mostBytes
}

// scaled is a picture with no side longer than that.
func scaled(src image.Image, side int) *image.RGBA {
	w, h := src.Bounds().Dx(), src.Bounds().Dy()
	if long := max(w, h); long > side {
		w, h = max(1, w*side/long), max(1, h*side/long)
	}
	dst := image.NewRGBA(image.Rect(0, 0, w, h))
	draw.ApproxBiLinear.Scale(dst, dst.Bounds(), src, src.Bounds(), draw.Src, nil)
	return dst
}

func encode(img *image.RGBA) (out []byte, mediaType string, err error) {
	var b bytes.Buffer
	if img.Opaque() {
		err = jpeg.Encode(&b, img, &jpeg.Options{Quality: quality})
		return b.Bytes(), "image/jpeg", err
	}
	err = png.Encode(&b, img)
	return b.Bytes(), "image/png", err
}
