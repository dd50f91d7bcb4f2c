// Package image is the tool that has pictures made, by an endpoint that speaks
// OpenAI's Images API.
package image

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"nod/chat"
	"nod/llm"
	"nod/setting"
	"nod/tools"
	"nod/tools/document"
	"nod/tools/web"
)

//go:embed image.md
var prose string

const parameters = `{"type":"object","properties":{
"prompt":{"type":"string","minLength":1,"maxLength":4000,"description":"for example a red kettle on a wooden table, watercolour"},
"size":{"type":"string","enum":["square","landscape","portrait"]}},
"required":["prompt"],"additionalProperties":false}`

// Keys are the keys of tools.image.
type Keys struct {
	Model string `yaml:"model" schema:"filled" default:"gpt-image-1" want:"must name a model, such as gpt-image-1" doc:"Default gpt-image-1"`
}

// options say who makes pictures: an endpoint that speaks OpenAI's Images API
// (https://platform.openai.com/docs/api-reference/images/create).
type options struct {
	baseURL string         // empty: there is none
	apiKey  setting.Secret // may be absent for a local endpoint
	model   string
}

const (
	// answerTime is how long a picture may take; a slow model needs two minutes.
	answerTime = 3 * time.Minute
	// answerMost is the most bytes of an answer, which holds a picture in base64.
	answerMost = 20 << 20
)

// imager is options that are ready to run.
type imager struct {
	options
	api    *web.API
	url    string
	client *web.Client // for an answer that only says where the picture is
}

// Make makes the tool that makes pictures. Each one costs money, so a call needs an
// approval, and is never repeated by itself: after a broken connection nobody knows
// whether the service made the picture.
func (k Keys) Make(_ context.Context, h tools.Host) (tools.Made, error) {
	i, err := newImager(options{h.BaseURL, h.APIKey, k.Model})
	if err != nil {
		return tools.Made{}, fmt.Errorf("set up image: %w", err)
	}
	return tools.One(i.tool())
}

func newImager(o options) (*imager, error) {
	if o.baseURL == "" {
		return nil, &tools.Missing{Why: "image needs an endpoint that makes pictures: set llm.api_key, or llm.base_url"}
	}
	u, err := url.Parse(o.baseURL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("base_url is no web address")
	}
	// A picture may lie anywhere on the web, or where the endpoint is.
	f, err := web.NewClient([]string{"*", u.Hostname()}, nil, net.DefaultResolver)
	if err != nil {
		return nil, err
	}
	api := web.NewAPI("The image service", 1)
	api.Most = answerMost
	api.Client = &http.Client{
		Timeout: answerTime,
		// A reused connection may close just then, and the outcome of the call would be
		// unknown.
		Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true, ForceAttemptHTTP2: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return &imager{options: o, api: api, url: u.JoinPath("images", "generations").String(), client: f}, nil
}

func (i *imager) tool() tools.Tool {
	t := tools.New("image", prose, parameters, i.run)
	t.HumanName, t.Aliases, t.Timeout = "image generator", []string{"image_gen", "text_to_image"}, answerTime+web.TimeMost
	t.Try = i.try
	return t
}

func (i *imager) run(ctx context.Context, in tools.Input, arg struct{ Prompt, Size string }) (llm.Result, error) {
	if strings.TrimSpace(arg.Prompt) == "" {
		return tools.Failed("the prompt is empty; describe the picture"), nil
	}
	req, err := i.request(ctx, in.Key, arg.Prompt, arg.Size)
	if err != nil {
		return llm.Result{}, fmt.Errorf("make request: %w", err)
	}
	var answer struct {
		Data []struct {
			URL  string
			Data string `json:"b64_json"`
		}
	}
	if err := i.api.Ask(req, &answer); err != nil {
		return i.failed(err)
	}
	if len(answer.Data) == 0 {
		return tools.Failed("The image service answered without a picture. Say so; do not call it again by yourself"), errors.New("ask the image service: no picture in the answer")
	}
	file, words, err := i.picture(ctx, answer.Data[0].URL, answer.Data[0].Data)
	if err != nil {
		return tools.Failed("A picture was made, but cannot be shown: %v. Say so; another call would cost money again", err), fmt.Errorf("get the picture: %w", err)
	}
	file.Name = nameOf(in.Files, file.Name)
	return llm.Result{Text: fmt.Sprintf("The file %s is %s. People see it.", file.Name, words), Files: []llm.File{file}}, nil
}

// try sends a request without a prompt, which no service answers with a picture: how it is
// refused tells whether address, key and model are right.
func (i *imager) try(ctx context.Context) error {
	req, err := i.post(ctx, map[string]any{"model": i.model, "n": 1})
	if err != nil {
		return err
	}
	err = i.api.Ask(req, &struct{}{})
	var e *web.Fault
	if !errors.As(err, &e) {
		return err
	}
	code, message := faultOf(e.Body)
	switch refused := e.Status == http.StatusBadRequest || e.Status == http.StatusUnprocessableEntity; {
	case code == "model_not_found", refused && strings.Contains(message, i.model):
		return fmt.Errorf("the endpoint has no model %s; look at tools.image.model", i.model)
	case refused:
		return nil
	case e.Status == http.StatusNotFound:
		return fmt.Errorf("nothing makes pictures at %s (status 404); look at llm.base_url", i.url)
	case e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden:
		return fmt.Errorf("the endpoint refuses the key (status %d); look at llm.api_key", e.Status)
	}
	return fmt.Errorf("ask the image service: %w", err)
}

// request asks for one picture, under a key that says which call it is for. It
// has no GetBody, so that net/http, which takes such a key for leave to do so,
// does not send it twice.
func (i *imager) request(ctx context.Context, key, prompt, size string) (*http.Request, error) {
	ask := map[string]any{"model": i.model, "prompt": prompt, "n": 1}
	if size != "" {
		ask["size"] = sizeOf(i.model, size)
	}
	req, err := i.post(ctx, ask)
	if err != nil {
		return nil, err
	}
	req.GetBody = nil
	req.Header.Set("Idempotency-Key", key)
	return req, nil
}

func (i *imager) post(ctx context.Context, ask map[string]any) (*http.Request, error) {
	body, err := json.Marshal(ask)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, i.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if i.apiKey.IsSet() {
		req.Header.Set("Authorization", "Bearer "+i.apiKey.Reveal())
	}
	return req, nil
}

// sizeOf gives a shape in pixels, which every model has its own of.
func sizeOf(model, size string) string {
	long := "1536"
	switch {
	case strings.HasPrefix(model, "dall-e-2"), size == "square":
		return "1024x1024"
	case strings.HasPrefix(model, "dall-e"):
		long = "1792"
	}
	if size == "portrait" {
		return "1024x" + long
	}
	return long + "x1024"
}

// picture gets a picture out of an answer, which holds it or says where it is.
// Its bytes say the kind of file, and words tell of it.
func (i *imager) picture(ctx context.Context, address, encoded string) (file llm.File, words string, err error) {
	if head, data, ok := strings.Cut(address, ";base64,"); ok && strings.HasPrefix(head, "data:") {
		address, encoded = "", data
	}
	var got web.Response
	switch {
	case encoded != "":
		if got.Body, err = base64.StdEncoding.DecodeString(encoded); err != nil {
			return file, "", tools.Refuse("its bytes are damaged")
		}
	case address == "":
		return file, "", tools.Refuse("the answer does not hold it")
	default:
		if got, err = i.fetch(ctx, address); err != nil {
			return file, "", err
		}
	}
	sniffed, _, _ := strings.Cut(http.DetectContentType(got.Body), ";")
	if !strings.HasPrefix(sniffed, "image/") {
		return file, "", tools.Refuse("what came is %s, and no picture", sniffed)
	}
	if got.Cut {
		return file, "", tools.Refuse("it is a picture of more than %d MB, which is too large", web.SizeMost>>20)
	}
	p, err := document.PictureOf(sniffed, got.Body)
	if err != nil {
		return file, "", err
	}
	return llm.File{Name: p.Extension, MediaType: sniffed, Data: got.Body}, p.Words, nil
}

func (i *imager) fetch(ctx context.Context, address string) (web.Response, error) {
	u, err := web.Parse(address)
	if err != nil {
		return web.Response{}, tools.Refuse("the answer gives no address of it")
	}
	ctx, cancel := context.WithTimeout(ctx, web.TimeMost)
	defer cancel()
	return i.client.Get(ctx, u)
}

// nameOf numbers the pictures of a thread.
func nameOf(files []chat.File, name string) string {
	for n := 1; ; n++ {
		base := fmt.Sprintf("image-%d", n)
		if !slices.ContainsFunc(files, func(f chat.File) bool { return strings.HasPrefix(strings.ToLower(f.Name), base+".") }) {
			return base + path.Ext(name)
		}
	}
}

// failed explains a failure. A refused prompt concerns the model alone; everything else
// concerns the operator too.
func (i *imager) failed(err error) (llm.Result, error) {
	var e *web.Fault
	if !errors.As(err, &e) {
		return llm.Result{}, err
	}
	code, message := faultOf(e.Body)
	if i.apiKey.IsSet() {
		message = strings.ReplaceAll(message, i.apiKey.Reveal(), "…")
	}
	if message != "" {
		message = ": " + message
	}
	operators := fmt.Errorf("ask the image service: %w", err)
	if code != "" {
		operators = fmt.Errorf("ask the image service: %w (%s)", err, code)
	}
	switch {
	case code == "content_policy_violation" || code == "moderation_blocked":
		return tools.Failed("The image service refuses this prompt%s. Nothing was made; describe another picture, or say so", message), nil
	case code == "insufficient_quota" || code == "billing_hard_limit_reached":
		return tools.Failed("The image service has no credit left; an operator has to look after it. Do without a picture"), operators
	case e.Status == http.StatusBadRequest || e.Status == http.StatusUnprocessableEntity:
		return tools.Failed("The image service refuses this request%s. Nothing was made", message), operators
	case e.Status == http.StatusNotFound:
		return tools.Failed("The image service does not know this address or model%s. An operator has to check the configuration; do without a picture", message), operators
	case e.Status == http.StatusForbidden:
		return tools.Failed("%s%s", e.Words, message), operators
	case e.Status != 0 && e.Status < 500 && e.Status != http.StatusRequestTimeout, tools.Undialled(err):
		return tools.Failed("%s", e.Words), operators
	}
	words := e.Words
	for _, end := range []string{"; try later, or do without it", ": try later, or do without it"} {
		words = strings.TrimSuffix(words, end)
	}
	return tools.Failed("%s. Whether a picture was made, and paid for, is not known: ask before you call it again", words), operators
}

// faultOf reads why a request was refused, as far as the service says it.
func faultOf(body []byte) (code, message string) {
	var got struct {
		Error struct {
			Message string
			Code    any
			Type    string
		}
	}
	if err := json.Unmarshal(body, &got); err != nil {
		return "", ""
	}
	code, _ = got.Error.Code.(string)
	return tools.OneLine(tools.Clean(cmp.Or(code, got.Error.Type)), 60), strings.TrimRight(tools.OneLine(tools.Clean(got.Error.Message), 300), ".")
}
