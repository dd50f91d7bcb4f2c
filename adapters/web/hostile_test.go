package web

import (
	"image"
	"image/png"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"nod/chat"
)

// Input beyond a limit is refused with a word, and nothing of it is kept.
func TestOutOfBounds(t *testing.T) {
	for _, tt := range []struct {
		name, path string
		fields     []string
		want       int
	}{
		{"a megabyte", "/say", []string{"text", strings.Repeat("x", 1<<20)}, 413},
		{"nothing", "/say", []string{"text", " \n\u202e "}, 400},
		{"as nobody", "/say", []string{"text", "x", "as", "eve"}, 400},
		{"as the bot", "/say", []string{"text", "x", "as", "nod"}, 400},
		{"without an id", "/say", []string{"text", "x", "id", ""}, 400},
		{"an id of another kind", "/say", []string{"text", "x", "id", "../../etc/passwd"}, 400},
		{"a reaction on nothing", "/react", []string{"emoji", "👍", "ref", "web/lobby/none"}, 404},
		{"a reaction on what is no name", "/react", []string{"emoji", "👍", "ref", "%%%"}, 400},
		{"no emoji", "/react", []string{"ref", "web/lobby/message0"}, 400},
		{"an emoji without end", "/react", []string{"emoji", strings.Repeat("👍", 100), "ref", "web/lobby/message0"}, 400},
		{"a button that is not there", "/press", []string{"what", "approve", "ref", "web/lobby/message0"}, 400},
		{"a reaction in the terminal", "/react", []string{"emoji", "👍", "ref", "terminal/local/m-1"}, 403},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := openRoom(t)
			r.send("/say", "c", "lobby", "text", "first", "id", "message0")
			r.a.restore(t.Context(), spoken{chat.ThreadID{Platform: "terminal", Channel: "local", Root: "main"}, chat.Line{Message: &chat.Message{Text: "x"}, Ref: chat.MessageRef{Platform: "terminal", Channel: "local", ID: "m-1"}}})
			r.tray.did = nil
			w := r.send(tt.path, tt.fields...)
			if w.Code != tt.want || len(r.tray.did) > 0 || len(r.a.board.items) != 2 {
				t.Errorf("status %d (%s), %q, %d on the board", w.Code, strings.TrimSpace(w.Body.String()), r.tray.did, len(r.a.board.items))
			}
		})
	}
}

// hostile is text that would be something else if it were let.
const hostile = "<script>alert(1)</script><img src=x onerror=alert(1)>\u202e\"'>&{{.}}<!-- [a](javascript:x) ![b](http://evil/x.png)"

// With any text in a field, the page holds only its own elements, and leads nowhere
// else.
func TestHostileTexts(t *testing.T) {
	r := openRoom(t)
	thread := threadID("lobby", "message0")
	r.send("/say", "c", "lobby", "text", hostile, "id", "message0")
	user := chat.User{ID: chat.UserID(hostile), Name: hostile}
	for i, p := range []chat.Post{
		{Text: &chat.Text{Markdown: hostile}},
		{Text: &chat.Text{Markdown: hostile, Notice: true}},
		{File: &chat.File{Name: hostile, MediaType: hostile, Blob: "b"}},
		{File: &chat.File{Name: hostile, MediaType: "image/png", Blob: "b"}},
		{Steps: &chat.Steps{Status: hostile, Items: []chat.Step{{Thought: hostile, Calls: []chat.ToolCall{{Tool: hostile, Args: hostile, Observation: strings.Repeat(hostile, 40), State: chat.CallState(hostile)}}}}}},
		{Approval: &chat.Approval{Tool: hostile, Args: hostile, Digest: hostile, Requester: user, Approvers: []string{hostile}, Why: hostile, Headline: hostile, Reason: hostile, By: []chat.User{user}, Quorum: 2, Exclude: []chat.User{user}, Approve: []string{hostile}}},
	} {
		p.Key = string(rune('a' + i))
		ref, err := r.a.Post(t.Context(), thread, p, false)
		if err != nil {
			t.Fatal(err)
		}
		_ = r.a.React(t.Context(), ref, hostile)
	}
	_ = r.a.Whisper(t.Context(), thread, People[0], chat.MessageRef{}, hostile)
	body := r.get("/?c=lobby&t=message0&as=ada").Body.String()
	if strings.Contains(body, "\u202e") {
		t.Error("the direction of writing can be turned")
	}
	doc, err := html.Parse(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		if n.Data == "script" && n.FirstChild != nil || n.Data == "img" && attr(n, "src") == "x" {
			t.Errorf("an element of a text: %s", n.Data)
		}
		for _, a := range n.Attr {
			if strings.HasPrefix(a.Key, "on") || a.Key == "style" {
				t.Errorf("an attribute %s of %s", a.Key, n.Data)
			}
			if where := attr(n, "href") + attr(n, "src"); where != "" && !strings.HasPrefix(where, "/") && !strings.HasPrefix(where, "#") && where != "http://evil/x.png" {
				t.Errorf("%s leads to %q", n.Data, where)
			}
		}
	}
}

func attr(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

// A file whose kind the browser does not know is recognised by its beginning.
func TestMediaType(t *testing.T) {
	var dot strings.Builder
	_ = png.Encode(&dot, image.NewGray(image.Rect(0, 0, 1, 1)))
	for content, want := range map[string]string{
		"level=info msg=started\n": "text/plain; charset=utf-8", dot.String(): "image/png", "\x00\x01\xff": "application/octet-stream",
	} {
		r := openRoom(t)
		var body strings.Builder
		form := multipart.NewWriter(&body)
		for k, v := range map[string]string{"as": "ada", "c": "lobby", "id": "message0"} {
			_ = form.WriteField(k, v)
		}
		part, _ := form.CreateFormFile("file", "nod.log")
		_, _ = part.Write([]byte(content))
		_ = form.Close()
		r.submit("/say", form.FormDataContentType(), body.String())
		if got := r.tray.messages[0].Files[0].MediaType; got != want {
			t.Errorf("%q is %s, want %s", content, got, want)
		}
	}
}

// Files come along with a message, and are given back as files: a browser runs
// nothing of them.
func TestFiles(t *testing.T) {
	r := openRoom(t)
	var body strings.Builder
	form := multipart.NewWriter(&body)
	for k, v := range map[string]string{"as": "ada", "c": "lobby", "id": "message0", "text": "look"} {
		_ = form.WriteField(k, v)
	}
	part, _ := form.CreateFormFile("file", "../x<y>.html")
	_, _ = part.Write([]byte("<script>1</script>"))
	_ = form.Close()
	if w := r.submit("/say", form.FormDataContentType(), body.String()); w.Code != http.StatusSeeOther {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	if f := r.tray.messages[0].Files; len(f) != 1 || f[0].Name != "x_y_.html" || f[0].Blob == "" {
		t.Fatalf("files %+v", f)
	}
	w := r.get("/file?ref=web%2Flobby%2Fmessage0&n=0")
	h := w.Header()
	if w.Body.String() != "<script>1</script>" || h.Get("Content-Type") != "application/octet-stream" ||
		!strings.HasPrefix(h.Get("Content-Disposition"), "attachment") || !strings.HasPrefix(h.Get("Content-Security-Policy"), "sandbox") {
		t.Errorf("%v %q", h, w.Body)
	}
	for _, target := range []string{"/file", "/file?ref=web/lobby/message0&n=1", "/file?ref=web/lobby/message0&n=-1", "/file?ref=x&n=0"} {
		if w := r.get(target); w.Code != http.StatusNotFound {
			t.Errorf("%s: status %d", target, w.Code)
		}
	}
}
