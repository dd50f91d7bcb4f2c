package slack

import (
	"context"
	"net/url"
	"path"
	"strings"

	"nod/adapters/slack/api"
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

	Transcription struct {
		Preview struct {
			Content string `json:"content"`
			More    bool   `json:"has_more"`
		} `json:"preview"`
	} `json:"transcription"`
}

// spoken is what is said in a voice clip, as Slack wrote it down: a text, never a word
// such as stop.
func (f file) spoken() string {
	said := strings.Join(strings.Fields(f.Transcription.Preview.Content), " ")
	switch {
	case said == "":
		return ""
	case f.Transcription.Preview.More:
		said += " …"
	}
	return "(said in " + chat.FirstOf(f.Name, f.Title, f.ID) + ":) " + said
}

// canvas is the media type of a document of Slack's, which it serves as a page.
const canvas = "application/vnd.slack-docs"

// page is a canvas as what it is read as.
func (f file) page() file {
	if f.Mimetype == canvas {
		f.Name, f.Mimetype = chat.FirstOf(f.Name, f.Title, f.ID)+".html", "text/html"
	}
	return f
}

// shrunk is the picture that Slack makes of one that is too large for a model,
// or of a kind that no model takes, such as those of phones; the file itself where
// there is none.
func (f file) shrunk() file {
	if f.Thumb == "" || !strings.HasPrefix(f.Mimetype, "image/") {
		return f
	}
	if chat.AsItIs(f.Mimetype) && f.Size <= intake.MostImage {
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

// attached fetches files, as far as the model can use them.
func (a *Adapter) attached(ctx context.Context, thread chat.ThreadID, files []file) []chat.File {
	var came []intake.File
	for _, f := range files {
		if f.Mode != "tombstone" && f.Mode != "hidden_by_limit" {
			came = append(came, a.attachment(f))
		}
	}
	return a.TakeFiles(ctx, thread, came)
}

// attachment is a file that is still to be fetched. Of some files an event
// tells the id only.
func (a *Adapter) attachment(f file) intake.File {
	f = f.shrunk().page()
	name := chat.FirstOf(f.Name, f.Title, f.ID)
	out := intake.File{File: chat.File{Name: name, MediaType: f.Mimetype, Size: f.Size}}
	if f.Access == "check_file_info" {
		out.Ask = func(ctx context.Context) (_ chat.File, err error) {
			var said file
			err = a.web.Call(ctx, api.Request{Method: "files.info", Args: url.Values{"file": {f.ID}}, Answer: &said, Field: "file"})
			f = said.shrunk().page()
			return chat.File{Name: chat.FirstOf(f.Name, f.Title, name), MediaType: f.Mimetype, Size: f.Size}, err
		}
	}
	out.Fetch = func(ctx context.Context, most int64) ([]byte, error) {
		return a.web.Download(ctx, chat.FirstOf(f.Download, f.Private), f.Mimetype, most)
	}
	return out
}
