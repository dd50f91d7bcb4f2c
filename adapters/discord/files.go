package discord

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"nod/chat"
)

// Caps of what is fetched. What is larger is only named.
const (
	mostText  = 1 << 20
	mostImage = 5 << 20
	mostFiles = 10
	fileWait  = 8 * time.Second // for all files of a message
)

// attached fetches the files of a message, as far as the model can use them.
// What can't be had is named without content.
func (a *Adapter) attached(ctx context.Context, thread chat.ThreadID, files []attachment) []chat.File {
	if len(files) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, fileWait)
	defer cancel()
	var out []chat.File
	for i, f := range files {
		if f.ID == "" && f.Filename == "" {
			continue
		}
		kept := chat.File{Name: firstOf(f.Filename, f.ID), MediaType: f.ContentType, Size: f.Size}
		if i < mostFiles {
			if err := a.fetch(ctx, thread, f, &kept); err != nil {
				a.log.Warn("fetch an attached file", "thread", thread.String(), "error", err)
			}
		}
		out = append(out, kept)
	}
	return out
}

// fetch takes one file into kept.
func (a *Adapter) fetch(ctx context.Context, thread chat.ThreadID, f attachment, kept *chat.File) error {
	most := int64(0)
	text := isText(f.ContentType)
	switch {
	case text:
		most = mostText
	case isImage(f.ContentType):
		most = mostImage
	}
	if most == 0 || f.Size > most {
		return nil
	}
	data, err := a.rest.download(ctx, f.URL, most)
	if err != nil {
		return err
	}
	if text && !utf8.Valid(data) {
		return nil
	}
	if text {
		kept.Text = beginning(string(data), chat.FileText)
	}
	kept.Size = int64(len(data))
	blob, err := a.o.Inbox.Keep(ctx, thread, data)
	if err != nil {
		return fmt.Errorf("keep a file: %w", err)
	}
	kept.Blob = blob
	return nil
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

func isImage(mediaType string) bool {
	switch mediaType {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return true
	}
	return false
}

// beginning is at most n bytes of s, ending at a rune.
func beginning(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// download fetches a file. Its address is all that it takes; the token stays
// here.
func (w *rest) download(ctx context.Context, address string, most int64) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, errors.New("fetch a file: bad address")
	}
	req.Header.Set("User-Agent", userAgent)
	resp, err := w.http.Do(req)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err
		}
		return nil, fmt.Errorf("fetch a file: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("fetch a file: status %d", resp.StatusCode)
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, most+1))
	if err != nil {
		return nil, fmt.Errorf("fetch a file: %w", err)
	}
	if int64(len(data)) > most {
		return nil, errors.New("fetch a file: larger than it was said to be")
	}
	return data, nil
}
