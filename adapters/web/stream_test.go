package web

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"nod/chat"
)

// news asks what changed in a view since a mark, and gives that and the next mark.
func (r *room) news(view, since string) (got, seen string) {
	r.t.Helper()
	var c changes
	if err := json.Unmarshal(r.get("/changes?"+view+"&since="+since).Body.Bytes(), &c); err != nil {
		r.t.Fatal(err)
	}
	return fmt.Sprint(c.Cards, c.Off, c.Sign), c.Seen
}

// A browser that was away is sent what it has not seen, and one of another
// process is told to begin anew.
func TestChanges(t *testing.T) {
	r := openRoom(t)
	thread := threadID("lobby", "message0")
	post := func(key, text string) {
		_, _ = r.a.Post(t.Context(), thread, chat.Post{Key: key, Text: &chat.Text{Markdown: text}}, false)
	}
	post("one", "first")
	since := r.a.board.mark(r.a.board.changed)
	post("two", "second")
	got, since := r.news("c=lobby&t=message0", since)
	if strings.Contains(got, "first") || !strings.Contains(got, "second") {
		t.Errorf("sent %s", got)
	}
	post("three", "third")
	r.a.Working(thread, chat.Work{What: "Thinking"})
	if got, _ := r.news("c=lobby&t=message0", since); !strings.Contains(got, "third") || strings.Contains(got, "second") || !strings.Contains(got, "Thinking") {
		t.Errorf("sent %s", got)
	}
	if got, seen := r.news("c=lobby", "other.1"); seen != "" {
		t.Errorf("for a mark of another process: %q, %s", seen, got)
	}
}

// All pages of a browser are told by one stream that something changed.
func TestStream(t *testing.T) {
	r := openRoom(t)
	srv := httptest.NewServer(http.HandlerFunc(r.a.events)) // the door is another test's
	t.Cleanup(srv.Close)                                    // after the stream
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	scan := bufio.NewScanner(resp.Body)
	for n := 0; n < 3; { // one at the start, and one for each change
		if !scan.Scan() {
			t.Fatal("the stream ended:", scan.Err())
		}
		if scan.Text() != "event: changed" {
			continue
		}
		n++
		_, _ = r.a.Post(t.Context(), threadID("lobby", "message0"), chat.Post{Key: newID(), Text: &chat.Text{Markdown: "x"}}, false)
	}
}
