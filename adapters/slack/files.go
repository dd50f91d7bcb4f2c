package slack

import (
	"context"
	"errors"
	"mime"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"nod/chat"
	"nod/chat/intake"
)

// file is what nod reads of a file object
// (https://docs.slack.dev/reference/objects/file-object).
type file struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Title    string `json:"title"`
	Mimetype string `json:"mimetype"`
	Mode     string `json:"mode"`
	Size     int64  `json:"size"`
	Private  string `json:"url_private"`
	Download string `json:"url_private_download"`
	Access   string `json:"file_access"`
	Thumb    string `json:"thumb_1024"`
}

// shrunk is the picture that Slack makes of one that is too large for a model,
// or of a kind that no model takes, such as those of phones; the file itself where
// there is none.
func (f file) shrunk() file {
	if f.Thumb == "" || !strings.HasPrefix(f.Mimetype, "image/") {
		return f
	}
	takes := slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, f.Mimetype)
	if takes && f.Size <= intake.MostImage {
		return f
	}
	name := strings.TrimSuffix(chat.FirstOf(f.Name, f.Title, f.ID), path.Ext(f.Name))
	f.Name, f.Mimetype, f.Size = name+".png", "image/png", 0
	if ext := path.Ext(strings.SplitN(f.Thumb, "?", 2)[0]); ext == ".jpg" || ext == ".jpeg" {
		f.Name, f.Mimetype = name+".jpg", "image/jpeg"
	}
	f.Download, f.Private = f.Thumb, f.Thumb
	return f
}

// attached fetches the files of a message, as far as the model can use them.
func (a *Adapter) attached(ctx context.Context, thread chat.ThreadID, ev event) []chat.File {
	var came []intake.File
	for _, f := range allFiles(ev) {
		if f.Mode != "tombstone" && f.Mode != "hidden_by_limit" {
			came = append(came, a.attachment(f))
		}
	}
	return a.TakeFiles(ctx, thread, came)
}

// attachment is a file that is still to be fetched. Of some files an event
// tells the id only.
func (a *Adapter) attachment(f file) intake.File {
	f = f.shrunk()
	name := chat.FirstOf(f.Name, f.Title, f.ID)
	out := intake.File{File: chat.File{Name: name, MediaType: f.Mimetype, Size: f.Size}}
	if f.Access == "check_file_info" {
		out.Ask = func(ctx context.Context) (_ chat.File, err error) {
			f, err = a.fileInfo(ctx, f.ID)
			f = f.shrunk()
			return chat.File{Name: chat.FirstOf(f.Name, f.Title, name), MediaType: f.Mimetype, Size: f.Size}, err
		}
	}
	out.Fetch = func(ctx context.Context, most int64) ([]byte, error) {
		return a.web.download(ctx, chat.FirstOf(f.Download, f.Private), f.Mimetype, most)
	}
	return out
}

func (a *Adapter) fileInfo(ctx context.Context, id string) (file, error) {
	var said struct {
		File file `json:"file"`
	}
	err := a.web.call(ctx, request{method: "files.info", args: url.Values{"file": {id}}, answer: &said})
	return said.File, err
}

// download fetches a private file. The token goes to Slack's own hosts only:
// the address comes from an event, and an external file's is anybody's.
func (w *web) download(ctx context.Context, address, kind string, most int64) ([]byte, error) {
	if !w.ours(address) {
		return nil, errors.New("fetch a file: it is not at Slack")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, errors.New("fetch a file: bad address")
	}
	req.Header.Set("Authorization", "Bearer "+w.token)
	return intake.Download(w.same(), req, most, func(resp *http.Response) error {
		page, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
		if resp.Request.URL.Query().Get("redir") != "" || page == "text/html" && kind != "text/html" {
			return errors.New("the token may not read it (is the scope files:read there?)")
		}
		return nil
	})
}

// same is a client that follows redirects only to where the token may go: it is
// sent along to another port, and to a host below.
func (w *web) same() *http.Client {
	c := *w.http
	c.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		if !w.ours(req.URL.String()) || len(via) >= 10 {
			return errors.New("it is somewhere else")
		}
		return nil
	}
	return &c
}

// withoutURL takes the address out of an error: files have secret ones.
func withoutURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// ours says whether the token may go to an address.
func (w *web) ours(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.User != nil {
		return false
	}
	api, err := url.Parse(w.base)
	if err == nil && u.Scheme == api.Scheme && strings.EqualFold(u.Host, api.Host) {
		return true
	}
	host := strings.ToLower(u.Hostname())
	return u.Scheme == "https" && (host == "slack.com" || strings.HasSuffix(host, ".slack.com") || strings.HasSuffix(host, ".slack-gov.com"))
}
