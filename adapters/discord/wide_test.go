package discord

import (
	"encoding/json"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"

	"nod/adapters/discord/api"
	"nod/chat"
	"nod/internal/fakediscord"
)

// noCards is a Discord that takes no cards.
func noCards(r *http.Request) (int, string, bool) {
	if r.GetBody == nil || r.Method != http.MethodPost {
		return 0, "", false
	}
	body, err := r.GetBody()
	if err != nil {
		return 0, "", false
	}
	if _, params, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); params["boundary"] != "" {
		part, err := multipart.NewReader(body, params["boundary"]).NextPart()
		if err != nil {
			return 0, "", false
		}
		body = io.NopCloser(part)
	}
	var b struct {
		Flags int `json:"flags"`
	}
	_ = json.NewDecoder(body).Decode(&b)
	return http.StatusBadRequest, `{"code":50035,"message":"Invalid Form Body"}`, b.Flags&int(discordgo.MessageFlagsIsComponentsV2) != 0
}

// A long answer is few long messages, or where Discord takes none, short ones. All
// of it is there, once, also when it is looked for, and whoever waited is pinged.
func TestLongMessages(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("A sentence of five words. ", 400)
	for name, want := range map[string]int{"taken": 3, "refused": 6} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := build(t, fakediscord.Options{})
			o.run(func(opt *Options) {
				opt.Now = func() time.Time { return time.Now().Add(time.Minute) }
				if name == "refused" {
					via(noCards)(opt)
				}
			})
			id := o.fake.Say(o.ada, o.general, o.mention()+" go")
			th := thread(o.general, id)
			p := answer("a", long)
			p.ReplyTo = api.RefOf(api.PlaceOf(th), id)
			ref := o.post(th, p, false)
			said := ""
			for _, m := range o.fake.Posts(id) {
				said += m.Text() + " "
			}
			if n := len(o.fake.Posts(id)); n != want || strings.Count(said, "five words.") != 400 || !strings.Contains(said, goOnByMention) || len(o.fake.Pings(id)) != 1 {
				t.Errorf("%d messages, %d sentences, pings %q", n, strings.Count(said, "five words."), o.fake.Pings(id))
			}
			o.fake.ForgetNonces()
			if again := o.post(th, p, true); again != ref || len(o.fake.Posts(id)) != want {
				t.Errorf("looked for: %d messages, at %v and %v", len(o.fake.Posts(id)), ref, again)
			}
		})
	}
}

// A picture is attached, once.
func TestPicture(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{}, nil)
	o.in.Do(func() { o.in.Blobs["b"] = []byte("PNG") })
	dm := o.fake.DM(o.ada)
	p := chat.Post{Key: "f", File: &chat.File{Name: "sales.png", MediaType: "image/png", Blob: "b"}}
	ref := o.post(direct(dm), p, false)
	if m := o.fake.Message(ref.ID); len(m.Files) != 1 {
		t.Errorf("files %d", len(m.Files))
	}
	o.fake.ForgetNonces()
	if again := o.post(direct(dm), p, true); again != ref {
		t.Errorf("looked for, it is at %v, it was at %v", again, ref)
	}
}
