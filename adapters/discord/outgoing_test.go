package discord

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"nod/adapters/discord/api"
	"nod/chat"
	"nod/internal/fakediscord"
)

// plot is a post of a file that the store has.
func (o *office) plot(key string, replyTo chat.MessageRef) chat.Post {
	o.in.Do(func() { o.in.Blobs["b-plot"] = []byte("PNG of @everyone") })
	return chat.Post{Key: key, ReplyTo: replyTo, File: &chat.File{Name: "tmp/@here plot.png", MediaType: "image/png", Blob: "b-plot"}}
}

// asked gives the conversation that a question begins, and the channel in which
// it is answered.
func (o *office) asked(form string) (th chat.ThreadID, ref chat.MessageRef, channel string) {
	if form == "DM" {
		dm := o.fake.DM(o.ada)
		return direct(dm), api.RefOf(api.Place{Channel: dm}, o.fake.Say(o.ada, dm, "plot it")), dm
	}
	if form == "replies" {
		o.fake.BotMay(o.guild, fakediscord.Usual&^fakediscord.CreatePublicThreads)
	}
	id := o.fake.Say(o.ada, o.general, o.mention()+" plot it")
	at := api.Place{Channel: o.general, Thread: id}
	if form == "replies" {
		return api.ThreadID(at), api.RefOf(at, id), o.general
	}
	return api.ThreadID(at), api.RefOf(at, id), id
}

// A file stands once, whatever goes wrong while it is posted: while Discord
// knows the nonce and after that, in every form of conversation.
func TestFileOnce(t *testing.T) {
	t.Parallel()
	faults := map[string]fakediscord.Fault{
		"none":       {Route: "none"},
		"502 after":  {Route: postRoute, After: true, Status: 502},
		"cut after":  {Route: postRoute, After: true, Cut: true},
		"500 before": {Route: postRoute, Status: 500},
		"cut before": {Route: postRoute, Cut: true},
		"limited":    {Route: postRoute, Status: 429, RetryAfter: time.Millisecond},
	}
	for _, form := range []string{"thread", "replies", "DM"} {
		for name, fault := range faults {
			t.Run(form+" "+name, func(t *testing.T) {
				t.Parallel()
				o := open(t, fakediscord.Options{}, nil)
				th, ref, channel := o.asked(form)
				o.fake.Inject(fault)
				p := o.plot("file/c1/0", ref)
				first := o.post(th, p, false)
				o.stop()
				o.fake.ForgetNonces()
				o.run(nil) // a later process isn't sure whether it was made
				if again := o.post(th, p, true); again != first {
					t.Errorf("looked for, it is at %v, it was at %v", again, first)
				}
				o.stands(t, channel, first, 1)
				p.Key = "file/c1/1"
				other := o.post(th, p, true)
				o.stands(t, channel, other, 2)
			})
		}
	}
}

// stands checks how many files stand, and the one at ref.
func (o *office) stands(t *testing.T, channel string, ref chat.MessageRef, n int) {
	t.Helper()
	posts := o.fake.Posts(channel)
	if len(posts) != n {
		t.Fatalf("%d messages stand, want %d", len(posts), n)
	}
	m := posts[n-1]
	if m.ID != ref.ID || m.Content != "" || len(m.Pings) != 0 || len(m.Files) != 1 {
		t.Fatalf("at %v stands %+v", ref, m)
	}
	f := m.Files[0]
	if string(f.Data) != "PNG of @everyone" || f.Type != "image/png" || !strings.HasPrefix(f.Name, "_here plot-") || !strings.HasSuffix(f.Name, ".png") {
		t.Errorf("the file is %+v", f)
	}
}

// Where there is no file to post, a line says so, once, and pings nobody.
func TestNoFile(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		spoil func(*office, *chat.File)
		want  string
	}{
		"never kept": {func(_ *office, f *chat.File) { f.Blob = "" }, "not kept any more"},
		"gone":       {func(_ *office, f *chat.File) { f.Blob = "b-gone" }, "not kept any more"},
		"empty":      {func(o *office, _ *chat.File) { o.in.Blobs["b-plot"] = nil }, "it is empty"},
		"too large":  {func(o *office, _ *chat.File) { o.in.Blobs["b-plot"] = make([]byte, 13<<20) }, "13.0 MiB, and the most is 10 MiB"},
		"forbidden":  {func(o *office, _ *chat.File) { o.fake.BotMay(o.guild, fakediscord.Usual&^fakediscord.AttachFiles) }, "does not take it here"},
	} {
		t.Run(name, func(t *testing.T) {
			o := open(t, fakediscord.Options{}, nil)
			th, ref, channel := o.asked("thread")
			p := o.plot("file/c1/0", ref)
			p.File.Name = "@everyone` <@" + o.ada + ">.png"
			o.in.Do(func() { tt.spoil(o, p.File) })
			first := o.post(th, p, false)
			if n := len(o.fake.Calls(postRoute)); n != 1 && name != "forbidden" {
				t.Errorf("it took %d calls", n)
			}
			o.fake.ForgetNonces()
			if again := o.post(th, p, true); again != first {
				t.Errorf("looked for, it is at %v, it was at %v", again, first)
			}
			posts := o.fake.Posts(channel)
			if len(posts) != 1 || len(posts[0].Files)+len(posts[0].Pings) != 0 || !strings.Contains(posts[0].Content, tt.want) {
				t.Errorf("it says %+v", posts)
			}
			if !strings.Contains(posts[0].Content, "`_everyone_ __"+o.ada+"_-") {
				t.Errorf("it names the file %q", posts[0].Content)
			}
		})
	}
}

// A post is found in any state of the store: a file that was erased since, and a line
// about one that came back.
func TestFileStandsAsItWas(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]bool{"file": true, "line": false} {
		t.Run(name, func(t *testing.T) {
			o := open(t, fakediscord.Options{}, nil)
			th, ref, channel := o.asked("DM")
			p := o.plot("file/c1/0", ref)
			have := func(kept bool) {
				o.in.Do(func() {
					if delete(o.in.Blobs, "b-plot"); kept {
						o.in.Blobs["b-plot"] = []byte("PNG")
					}
				})
			}
			have(before)
			first := o.post(th, p, false)
			o.fake.ForgetNonces()
			have(!before)
			if again := o.post(th, p, true); again != first || len(o.fake.Posts(channel)) != 1 {
				t.Errorf("looked for, it is at %v; there stands %+v", again, o.fake.Posts(channel))
			}
		})
	}
}

// A proxy before Discord may accept less than Discord says.
func TestFileRefused(t *testing.T) {
	t.Parallel()
	o := build(t, fakediscord.Options{})
	o.run(via(func(r *http.Request) (int, string, bool) {
		form := strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/")
		return http.StatusRequestEntityTooLarge, `{"code":40005,"message":"Request entity too large"}`, form
	}))
	th, ref, channel := o.asked("DM")
	p := o.plot("file/c1/0", ref)
	o.in.Do(func() { o.in.Blobs["b-plot"] = bytes.Repeat([]byte("x"), 3<<20) })
	o.post(th, p, false)
	if posts := o.fake.Posts(channel); len(posts) != 1 || !strings.Contains(posts[0].Content, "too large for Discord (3.0 MiB).") {
		t.Errorf("it says %+v", posts)
	}
}

// A store that does not answer is no reason to say that a file is gone, and a
// conversation that can't be written to is none to say anything.
func TestFileErrors(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{}, nil)
	th, ref, channel := o.asked("DM")
	p := o.plot("file/c1/0", ref)
	o.in.Do(func() { o.in.Fail = errors.New("the store is away") })
	if _, err := o.a.Post(t.Context(), th, p, false); err == nil || errors.Is(err, chat.ErrGone) {
		t.Errorf("Post: %v", err)
	}
	o.in.Do(func() { o.in.Fail = nil })
	o.fake.CloseDMs(o.ada, true)
	if _, err := o.a.Post(t.Context(), th, p, false); !errors.Is(err, chat.ErrGone) {
		t.Errorf("Post: %v, want %v", err, chat.ErrGone)
	}
	if posts := o.fake.Posts(channel); len(posts) != 0 {
		t.Errorf("there stands %+v", posts)
	}
}

// A media type goes into a header, so it must be one.
func TestMediaType(t *testing.T) {
	for said, want := range map[string]string{
		"image/png":                 "image/png",
		"Text/CSV; Charset=utf-8":   "text/csv; charset=utf-8",
		"":                          "application/octet-stream",
		"png":                       "application/octet-stream",
		"a/b\r\nX-Evil: 1":          "application/octet-stream",
		"text/plain; x=\"a\r\nb\"":  "application/octet-stream",
		"image/png; charset=\"ü\"":  "image/png; charset*=utf-8''%C3%BC",
		"application/x; a=b; a=c":   "application/octet-stream",
		"image/svg+xml;charset=x y": "application/octet-stream",
	} {
		if got := mediaType(said); got != want {
			t.Errorf("mediaType(%q) = %q, want %q", said, got, want)
		}
	}
}

// In a server that is boosted far enough larger files are attached, and no longer
// once it is not.
func TestBoostedFile(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{}, nil)
	th, ref, channel := o.asked("thread")
	post := func(key string) string {
		p := o.plot(key, ref)
		o.in.Do(func() { o.in.Blobs["b-plot"] = make([]byte, 13<<20) })
		before := len(o.fake.Posts(channel))
		o.post(th, p, false)
		return fmt.Sprint(len(o.fake.Posts(channel)[before].Files))
	}
	got := post("file/1")
	for n, tier := range []int{boosted, 1} {
		o.fake.Boost(o.guild, tier)
		o.settled(n)
		got += post(fmt.Sprint("file/", n+2))
	}
	if got != "010" {
		t.Errorf("files that are attached, before, with and after boosts: %s", got)
	}
}

// settled has a message come, so that all before it was heard.
func (o *office) settled(n int) {
	o.t.Helper()
	text := fmt.Sprint("the end of ", n)
	o.fake.Say(o.cleo, o.fake.DM(o.cleo), text)
	o.in.Await(o.t, func() bool { return slices.Contains(texts(o), text) })
}
