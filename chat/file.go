package chat

import (
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Content gives a file's content. read gets the name of its blob, if any, and returns
// ErrNoFile for an erased one. Then the content is empty without an error, since
// another try would not help.
func (f File) Content(read func(blob string) ([]byte, error)) ([]byte, error) {
	if f.Blob == "" {
		return nil, nil
	}
	data, err := read(f.Blob)
	switch {
	case errors.Is(err, ErrNoFile):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read the file: %w", err)
	}
	return data, nil
}

// Caps of a file's name, in bytes. Every file system takes 255, and adapters
// add a little.
const (
	mostFileName  = 120
	mostExtension = 16
)

// FileName makes a safe file name of any given one: the last part of a path, on one
// line, without leading dots, invisible or direction-changing characters, and
// characters with a meaning for file systems or markup. It is short, and never empty.
func FileName(name string) string {
	parts := strings.FieldsFunc(strings.ToValidUTF8(name, ""), func(r rune) bool { return r == '/' || r == '\\' })
	if len(parts) > 0 {
		name = parts[len(parts)-1]
	} else {
		name = ""
	}
	name = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return -1
		case strings.ContainsRune("<>:\"|?*`@#&%$", r):
			return '_'
		}
		return r
	}, name)
	name = strings.Trim(strings.Join(strings.Fields(name), " "), ". ")
	stem, ext := splitName(name)
	if stem = strings.TrimRight(CutBytes(stem, mostFileName-len(ext)), ". "); stem == "" {
		stem = "file"
	}
	return stem + ext
}

// splitName cuts a name before its extension; a long one does not count as an
// extension.
func splitName(name string) (stem, ext string) {
	ext = path.Ext(name)
	if len(ext) > mostExtension || len(ext) < 2 || strings.Contains(ext, " ") {
		ext = ""
	}
	return strings.TrimSuffix(name, ext), ext
}

// CutBytes is at most n bytes of s, ending at a rune.
func CutBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// Mark is a word of eight small letters and digits that stands for a post of a
// thread. It is the same for every attempt at the post, and, but for a chance
// of one in 10¹², for no other. Files have no place for a [Post.Key] on most
// platforms, but a name they have everywhere: see [MarkedName].
func (p Post) Mark(thread ThreadID) string {
	sum := sha256.Sum256([]byte(thread.String() + "\x00" + p.Key))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:5]))
}

// MarkedName is FileName with a mark before the extension: plot-k3j2h4g5.png.
func MarkedName(name, mark string) string {
	stem, ext := splitName(FileName(name))
	return stem + "-" + mark + ext
}

// HasMark says whether MarkedName gave a file its name, with this mark. The platform
// may have changed the part before the mark.
func HasMark(name, mark string) bool {
	name = strings.ToLower(name)
	stem, _ := splitName(name)
	return mark != "" && (strings.HasSuffix(stem, "-"+mark) || strings.HasSuffix(name, "-"+mark))
}

// Pictured says whether a model can be shown a picture of a media type, as it is or turned
// into one that models take.
func Pictured(mediaType string) bool {
	return AsItIs(mediaType) || mediaType == "image/bmp" || mediaType == "image/tiff"
}

// AsItIs says whether models take a picture of a media type as it is.
func AsItIs(mediaType string) bool {
	switch mediaType {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return true
	}
	return false
}

// Unseen says whether a file is a picture, by its type or its name, that no model can be
// shown.
func (f File) Unseen() bool {
	switch strings.ToLower(path.Ext(f.Name)) {
	case ".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".tif", ".tiff", ".heic", ".heif", ".avif", ".svg":
		return !Pictured(f.MediaType)
	}
	return strings.HasPrefix(f.MediaType, "image/") && !Pictured(f.MediaType)
}
