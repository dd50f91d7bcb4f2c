package picture

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"testing"

	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"

	"nod/chat"
)

func bytesOf(t *testing.T, w, h int, c color.Color, write func(*bytes.Buffer, image.Image) error) []byte {
	t.Helper()
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	img.Set(0, 0, c)
	var b bytes.Buffer
	if err := write(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func asPNG(b *bytes.Buffer, i image.Image) error  { return png.Encode(b, i) }
func asJPEG(b *bytes.Buffer, i image.Image) error { return jpeg.Encode(b, i, nil) }
func asGIF(b *bytes.Buffer, i image.Image) error  { return gif.Encode(b, i, nil) }
func asBMP(b *bytes.Buffer, i image.Image) error  { return bmp.Encode(b, i) }
func asTIFF(b *bytes.Buffer, i image.Image) error { return tiff.Encode(b, i, nil) }

func TestPictures(t *testing.T) {
	webp, err := base64.StdEncoding.DecodeString("UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA==")
	if err != nil {
		t.Fatal(err)
	}
	small := bytesOf(t, 3, 2, color.Black, asPNG)
	for _, tt := range []struct {
		name, said string
		data       []byte
		kept, sent string // types; "" is not sent
		side       int
	}{
		{"PNG", "image/png", small, "image/png", "image/png", 3},
		{"JPEG that says PNG", "image/png", bytesOf(t, 3, 2, color.Black, asJPEG), "image/jpeg", "image/jpeg", 3},
		{"PNG that says TIFF", "image/tiff", small, "image/png", "image/png", 3},
		{"PNG without a type", "", small, "image/png", "image/png", 3},
		{"GIF", "image/gif", bytesOf(t, 3, 2, color.Black, asGIF), "image/gif", "image/gif", 3},
		{"WebP", "image/webp", webp, "image/webp", "image/webp", 1},
		{"BMP", "image/bmp", bytesOf(t, 3, 2, color.Black, asBMP), "image/bmp", "image/jpeg", 3},
		{"TIFF", "image/tiff", bytesOf(t, 3, 2, color.Black, asTIFF), "image/tiff", "image/png", 3},
		{"broken", "image/png", []byte("\x89PNG\r\n\x1a\nrubbish"), "application/octet-stream", "", 0},
		{"empty", "image/png", nil, "application/octet-stream", "", 0},
		{"an archive that says PNG", "image/png", []byte("Rar!\x1a\x07 rubbish"), "application/octet-stream", "", 0},
		{"PNG in capitals", "IMAGE/PNG", small, "image/png", "image/png", 3},
		{"PNG with a parameter", "image/png; charset=binary", small, "image/png", "image/png", 3},
		{"PNG of another store", "binary/octet-stream", small, "image/png", "image/png", 3},
		{"PNG by an older name", "image/x-png", small, "image/png", "image/png", 3},
		{"WebP that says PNG", "image/png", webp, "image/webp", "image/webp", 1},
		{"a page that says PNG", "image/png", []byte("<!doctype html><title>Sign in</title>"), "application/octet-stream", "", 0},
		{"a PDF that says PNG", "image/png", []byte("%PDF-1.7\n"), "application/octet-stream", "", 0},
		{"a broken one with a parameter", "image/png; charset=binary", []byte("\x89PNG"), "application/octet-stream", "", 0},
		{"AVIF", "image/avif", []byte("\x00\x00\x00\x1cftypavif"), "image/avif", "", 0},
		{"an icon", "image/x-icon", []byte("\x00\x00\x01\x00"), "image/x-icon", "", 0},
		{"a bomb", "image/png", append(append([]byte{}, small[:16]...), "\x00\x01\x00\x00\x00\x01\x00\x00\x08\x06\x00\x00\x00\x00\x00\x00\x00"...), "application/octet-stream", "", 0},
		{"HEIC", "image/heic", []byte("\x00\x00\x00\x18ftypheic"), "image/heic", "", 0},
		{"HEIC that says JPEG", "image/jpeg", []byte("\x00\x00\x00\x18ftypheic"), "application/octet-stream", "", 0},
		{"SVG", "image/svg+xml", []byte("<svg/>"), "image/svg+xml", "", 0},
		{"a text", "text/plain", small, "text/plain", "image/png", 3},
		{"long", "image/png", bytesOf(t, 5000, 10, color.Black, asPNG), "image/png", "image/png", mostSide},
		{"long, opaque", "image/jpeg", bytesOf(t, 10, 5000, color.Black, asJPEG), "image/jpeg", "image/jpeg", mostSide},
	} {
		if got := Type(tt.data, tt.said); got != tt.kept {
			t.Errorf("%s: type %q, want %q", tt.name, got, tt.kept)
		}
		out, form, ok := Fit(tt.data)
		if ok != (tt.sent != "") || form != tt.sent {
			t.Errorf("%s: sent as %q, %v, want %q", tt.name, form, ok, tt.sent)
		}
		if size, _, ok := header(out); tt.sent != "" && (!ok || max(size.Width, size.Height) != tt.side) {
			t.Errorf("%s: %d × %d pixels, want %d", tt.name, size.Width, size.Height, tt.side)
		}
		if tt.sent != "" && !chat.Pictured(Type(tt.data, "")) || chat.Pictured(tt.kept) && tt.sent == "" {
			t.Errorf("%s is not shown as it is sent", tt.name)
		}
	}
}
