// Package intake fetches the files that people attach to messages. A file that can't
// be fetched soon goes along as a name only: the message is never lost for it. Files
// that a model can't read are kept too, for tools.
//
// The adapter knows the place of a file and the way to fetch it.
package intake

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"nod/chat"
	"nod/chat/picture"
)

// Limits of fetched files, in bytes and number. Files beyond are only named.
const (
	MostFile  = 16 << 20
	MostImage = 5 << 20         // models take no larger ones
	MostFiles = 10              // of a message
	Wait      = 8 * time.Second // for all files of a message
)

// File is one that came along with a message and was not fetched yet.
type File struct {
	chat.File // the message's description of it
	// Ask completes that, where the message tells too little; nil where not.
	Ask func(ctx context.Context) (chat.File, error)
	// Fetch gives the content, or an error where it has more than so many bytes.
	Fetch func(ctx context.Context, most int64) ([]byte, error)
}

// Store is where files are kept.
type Store struct {
	// Keep keeps content and names it. A [chat.NoRoomError] goes along with the file.
	Keep func(ctx context.Context, thread chat.ThreadID, data []byte) (blob string, err error)
	// Failed is told why a file was not had, which its sender can't help.
	Failed func(thread chat.ThreadID, err error)
}

// Take fetches and keeps the files of a message, as far as a model can use
// them, and lists all of them.
func (s Store) Take(ctx context.Context, thread chat.ThreadID, files []File) []chat.File {
	ctx, cancel := context.WithTimeout(ctx, Wait)
	defer cancel()
	var out []chat.File
	for i, f := range files {
		if i < MostFiles {
			if err := s.fetchFile(ctx, thread, &f); err != nil {
				s.Failed(thread, err)
			}
		}
		out = append(out, f.File)
	}
	return out
}

func (s Store) fetchFile(ctx context.Context, thread chat.ThreadID, f *File) error {
	if f.Ask != nil {
		full, err := f.Ask(ctx)
		if err != nil {
			return fmt.Errorf("ask about a file: %w", err)
		}
		f.File = full
	}
	most := int64(MostFile)
	if chat.AsItIs(f.MediaType) {
		most = MostImage
	}
	if f.Size > most {
		return nil
	}
	data, err := f.Fetch(ctx, most)
	if err != nil {
		return err
	}
	f.MediaType = picture.Type(data, f.MediaType)
	if isText(f.MediaType) && utf8.Valid(data) {
		f.Text = chat.CutBytes(string(data), chat.FileText)
	}
	f.Size = int64(len(data))
	if f.Blob, err = s.Keep(ctx, thread, data); err != nil {
		if full, ok := errors.AsType[chat.NoRoomError](err); ok {
			f.Refused = full.Why
		}
		return fmt.Errorf("keep a file: %w", err)
	}
	return nil
}

// mostEarlier is how many files that were posted before the bot was called are fetched.
const mostEarlier = 4

// Named is a line that names a file of a quoted message.
func Named(file string) string { return "\n[attached: " + chat.Flat(file) + "]" }

// Earlier chooses among the files of the messages of a thread, oldest first: those of its
// beginning, as far as they leave half of the room, and the newest.
func Earlier[T any](of [][]T) []T {
	all := slices.Concat(of...)
	if len(all) <= mostEarlier {
		return all
	}
	first := min(len(of[0]), mostEarlier/2)
	return slices.Concat(all[:first], all[len(all)-mostEarlier+first:])
}

// isText says whether a media type is one that a model can read as it is.
func isText(mediaType string) bool {
	kind, _, err := mime.ParseMediaType(mediaType)
	if err != nil {
		return false
	}
	switch kind {
	case "application/json", "application/xml", "application/yaml", "application/x-yaml", "application/toml",
		"application/javascript", "application/sql", "application/x-sh", "application/x-ndjson":
		return true
	}
	return strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "+json") || strings.HasSuffix(kind, "+xml") && kind != "image/svg+xml"
}

// Download makes a request and returns at most most bytes. check may refuse the
// response; it may be nil. No error names the address, since addresses of files are
// secret.
func Download(client *http.Client, req *http.Request, most int64, check func(*http.Response) error) ([]byte, error) {
	resp, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("fetch a file: %w", chat.WithoutAddress(err))
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("fetch a file: status %d", resp.StatusCode)
	}
	if check != nil {
		if err := check(resp); err != nil {
			return nil, fmt.Errorf("fetch a file: %w", err)
		}
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, most+1))
	if err != nil {
		return nil, fmt.Errorf("fetch a file: %w", chat.WithoutAddress(err))
	}
	if int64(len(data)) > most {
		return nil, errors.New("fetch a file: larger than it was said to be")
	}
	return data, nil
}
