package terminal

import (
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"nod/chat"
	"nod/chat/intake"
)

// attachWord begins a line that attaches a file to the next message.
const attachWord = "attach"

// parseAttach gives the path of a line such as attach ./prices.csv. Only what
// looks like the path of a file is one; any other line is a message.
func parseAttach(text string) (path string, ok bool) {
	word, path, _ := strings.Cut(text, " ")
	path = strings.Trim(strings.TrimSpace(path), `"'`)
	if !strings.EqualFold(word, attachWord) || !strings.ContainsAny(path, `./`) {
		return "", false
	}
	quoted := strings.HasSuffix(text, `"`) || strings.HasSuffix(text, "'")
	return path, quoted || !strings.ContainsAny(path, " \t")
}

// attach keeps a file, for the next message to carry.
func (a *Adapter) attach(ctx context.Context, path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return a.say(fmt.Sprintf("%s can't be attached: there is no such file", cleanLine(path)))
	case !info.Mode().IsRegular():
		return a.say(fmt.Sprintf("%s can't be attached: it is not a file", cleanLine(path)))
	case info.Size() > intake.MostFile:
		return a.say(fmt.Sprintf("%s can't be attached: it has more than %d MiB", cleanLine(path), intake.MostFile>>20))
	}
	var failed error
	store := intake.Store{Keep: a.o.Inbox.Keep, Failed: func(_ chat.ThreadID, err error) { failed = err }}
	files := store.Take(ctx, Thread, []intake.File{{
		File:  chat.File{Name: filepath.Base(path), MediaType: mediaType(path), Size: info.Size()},
		Fetch: func(_ context.Context, most int64) ([]byte, error) { return readFile(path, most) },
	}})
	if failed != nil {
		return a.say(fmt.Sprintf("%s can't be attached: %v", cleanLine(path), failed))
	}
	a.mu.Lock()
	a.attached = append(a.attached, files...)
	a.mu.Unlock()
	return a.say(cleanLine(files[0].Name) + " goes with your next message")
}

func readFile(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open the file: %w", err)
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, most))
	if err != nil {
		return nil, fmt.Errorf("read the file: %w", err)
	}
	return data, nil
}

// mediaType goes by the name, and by the content where the name says nothing.
func mediaType(path string) string {
	if kind := mime.TypeByExtension(filepath.Ext(path)); kind != "" {
		return kind
	}
	head, err := readFile(path, 512)
	if err != nil {
		return ""
	}
	return http.DetectContentType(head)
}
