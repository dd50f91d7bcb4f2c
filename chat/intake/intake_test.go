package intake

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"nod/chat"
)

// shelf keeps files under their beginning.
func shelf(failed *int) Store {
	return Store{
		Keep: func(_ context.Context, _ chat.ThreadID, data []byte) (string, error) {
			switch string(data) {
			case "unkept":
				return "", errors.New("away")
			case "too much":
				return "", fmt.Errorf("keep: %w", chat.NoRoomError{Why: "it is full"})
			}
			return "b-" + string(data[:min(len(data), 4)]), nil
		},
		Failed: func(chat.ThreadID, error) { *failed++ },
	}
}

func came(mediaType, content string) File {
	return File{
		File:  chat.File{Name: "f", MediaType: mediaType, Size: int64(len(content))},
		Fetch: func(context.Context, int64) ([]byte, error) { return []byte(content), nil },
	}
}

func TestTake(t *testing.T) {
	text := "-" + strings.Repeat("é", chat.FileText)
	broken := came("text/plain", "x")
	broken.Fetch = func(context.Context, int64) ([]byte, error) { return nil, errors.New("cut") }
	asked := came("", "")
	asked.Ask = func(context.Context) (chat.File, error) {
		asked.Fetch = nil
		return chat.File{Name: "full", MediaType: "application/json", Size: 2}, nil
	}
	asked.Fetch = func(_ context.Context, most int64) ([]byte, error) { return []byte("{}"), nil }
	unknown := came("text/plain", "x")
	unknown.Ask = func(context.Context) (chat.File, error) { return chat.File{}, errors.New("no answer") }
	tests := []struct {
		name   string
		file   File
		want   chat.File
		failed int
	}{
		{"text", came("text/plain; charset=utf-8", "hello"), chat.File{Name: "f", MediaType: "text/plain; charset=utf-8", Size: 5, Text: "hello", Blob: "b-hell"}, 0},
		{"long text", came("text/x-go", text), chat.File{Name: "f", MediaType: "text/x-go", Size: 2*chat.FileText + 1, Text: text[:chat.FileText-1], Blob: "b-" + text[:4]}, 0},
		{"image", came("image/gif", "GIF89a\x01\x00\x01\x00\x00\x00\x00"), chat.File{Name: "f", MediaType: "image/gif", Size: 13, Blob: "b-GIF8"}, 0},
		{"image of another kind", came("image/png", "GIF89a\x01\x00\x01\x00\x00\x00\x00"), chat.File{Name: "f", MediaType: "image/gif", Size: 13, Blob: "b-GIF8"}, 0},
		{"broken image", came("image/png", "\x89PNG!"), chat.File{Name: "f", MediaType: "application/octet-stream", Size: 5, Blob: "b-\x89PNG"}, 0},
		{"no text after all", came("text/csv", "\xff\xfe"), chat.File{Name: "f", MediaType: "text/csv", Size: 2, Blob: "b-\xff\xfe"}, 0},
		{"too large", came("image/png", strings.Repeat("x", MostImage+1)), chat.File{Name: "f", MediaType: "image/png", Size: MostImage + 1}, 0},
		{"drawing", came("image/svg+xml", "<svg/>"), chat.File{Name: "f", MediaType: "image/svg+xml", Size: 6, Blob: "b-<svg"}, 0},
		{"archive", came("application/zip", "PK"), chat.File{Name: "f", MediaType: "application/zip", Size: 2, Blob: "b-PK"}, 0},
		{"no kind", came("", "x"), chat.File{Name: "f", Size: 1, Blob: "b-x"}, 0},
		{"large archive", came("application/zip", strings.Repeat("x", MostFile+1)), chat.File{Name: "f", MediaType: "application/zip", Size: MostFile + 1}, 0},
		{"not had", broken, chat.File{Name: "f", MediaType: "text/plain", Size: 1}, 1},
		{"not kept", came("text/plain", "unkept"), chat.File{Name: "f", MediaType: "text/plain", Size: 6, Text: "unkept"}, 1},
		{"no room", came("text/plain", "too much"), chat.File{Name: "f", MediaType: "text/plain", Size: 8, Text: "too much", Refused: "it is full"}, 1},
		{"asked about", asked, chat.File{Name: "full", MediaType: "application/json", Size: 2, Text: "{}", Blob: "b-{}"}, 0},
		{"unknown", unknown, chat.File{Name: "f", MediaType: "text/plain", Size: 1}, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			failed := 0
			got := shelf(&failed).Take(t.Context(), chat.ThreadID{}, []File{tt.file})
			if diff := cmp.Diff([]chat.File{tt.want}, got); diff != "" || failed != tt.failed {
				t.Errorf("told of %d failures, files (-want +got):\n%s", failed, diff)
			}
		})
	}
}

// A message with very many or very slow files is not held up by them.
func TestTakeMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := came("text/plain", "x")
		slow.Fetch = func(ctx context.Context, _ int64) ([]byte, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		files, failed := []File{slow}, 0
		for range 12 {
			files = append(files, came("text/plain", "x"))
		}
		began := time.Now()
		got := shelf(&failed).Take(t.Context(), chat.ThreadID{}, files)
		if len(got) != 13 || time.Since(began) != Wait || failed != 1 || got[MostFiles-1].Blob == "" || got[MostFiles].Blob != "" {
			t.Errorf("after %v, %d failures: %+v", time.Since(began), failed, got)
		}
	})
}

// No more is read than was announced, and no error tells the address.
func TestDownload(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/secret/cut":
			w.Header().Set("Content-Length", "100")
			_, _ = fmt.Fprint(w, "x")
		case "/secret/gone":
			http.Error(w, "gone", http.StatusGone)
		default:
			_, _ = fmt.Fprint(w, "12345")
		}
	}))
	defer s.Close()
	refuse := func(*http.Response) error { return errors.New("refused") }
	for _, tt := range []struct {
		url   string
		most  int64
		check func(*http.Response) error
		want  string
	}{
		{s.URL + "/secret", 5, nil, ""},
		{s.URL + "/secret", 4, nil, "larger"},
		{s.URL + "/secret", 5, refuse, "refused"},
		{s.URL + "/secret/cut", 5, nil, "EOF"},
		{s.URL + "/secret/gone", 5, nil, "410"},
		{"http://127.0.0.1:1/secret", 5, nil, "fetch a file"},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, tt.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		data, err := Download(s.Client(), req, tt.most, tt.check)
		switch {
		case tt.want == "" && (err != nil || string(data) != "12345"):
			t.Errorf("%s: %q, %v", tt.url, data, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "secret")):
			t.Errorf("%s: %v, want %q", tt.url, err, tt.want)
		}
	}
}
