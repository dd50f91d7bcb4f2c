package openai

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"
)

// Try finds out whether an endpoint takes conversations at its address and has the model,
// and says what it found. A completion without messages, which no server answers, tells
// that; a list of models may lack some.
func Try(ctx context.Context, o Options) (found string, err error) {
	base, query, _ := strings.Cut(cmp.Or(o.BaseURL, DefaultURL), "?")
	t := trier{o: o, base: strings.TrimRight(base, "/"), query: query}
	code, said, err := t.ask(ctx, http.MethodGet, t.base+"/models")
	if err != nil {
		return "", err
	}
	status, words, err := t.ask(ctx, http.MethodPost, t.base+completions)
	switch {
	case err != nil:
		return "", err
	case status == http.StatusNotFound:
		return "", t.missing(ctx, words, idsOf(said))
	case status >= http.StatusInternalServerError && code != http.StatusOK:
		return "", fmt.Errorf("the endpoint answers with status %d", status)
	}
	found = o.Model + " at " + t.base
	ids := idsOf(said)
	if has, others := listed(ids, o.Model); !has && len(others) > 0 {
		return "", fmt.Errorf("the endpoint has no model %s, but %s; write that as llm.model", o.Model, strings.Join(others, ", "))
	} else if !has && len(ids) > 0 {
		found += fmt.Sprintf(", whose list of %d models does not name it", len(ids))
	}
	return found, nil
}

// DefaultURL is OpenAI's own endpoint.
const DefaultURL = "https://api.openai.com/v1"

const completions = "/chat/completions"

// trier asks an endpoint about itself.
type trier struct {
	o           Options
	base, query string
}

// ask makes a request, and gives the beginning of the answer.
func (t trier) ask(ctx context.Context, method, address string) (status int, said []byte, err error) {
	body := ""
	if method == http.MethodPost {
		raw, _ := json.Marshal(map[string]any{"model": t.o.Model, "messages": []string{}}) // never fails
		body = string(raw)
	}
	req, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	req.URL.RawQuery = t.query
	req.Header.Set("Content-Type", "application/json")
	if t.o.APIKey.IsSet() {
		req.Header.Set("Authorization", "Bearer "+t.o.APIKey.Reveal())
	}
	resp, err := t.o.client().Do(req)
	if err != nil {
		return 0, nil, fmt.Errorf("the endpoint can't be reached: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	switch status = resp.StatusCode; {
	case elsewhere(resp):
		return 0, nil, fmt.Errorf("the endpoint leads elsewhere (status %d), where no conversation is taken to; write the address that it leads to as llm.base_url", status)
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return 0, nil, fmt.Errorf("the endpoint refuses the key (status %d); look at llm.api_key", status)
	case status >= http.StatusInternalServerError && method == http.MethodGet:
		return 0, nil, fmt.Errorf("the endpoint answers with status %d", status)
	}
	const mostList = 16 << 20
	said, err = io.ReadAll(io.LimitReader(resp.Body, mostList))
	if err != nil {
		err = fmt.Errorf("read the endpoint's answer: %w", err)
	}
	return status, said, err
}

// elsewhere says whether an answer leads to another host, or from http to https.
func elsewhere(resp *http.Response) bool {
	to, err := resp.Location()
	from := resp.Request.URL
	return resp.StatusCode >= 300 && resp.StatusCode < 400 && err == nil && (to.Host != from.Host || to.Scheme != from.Scheme)
}

// missing says why an endpoint answers with 404: it has not the model, or conversations
// are taken at another address.
func (t trier) missing(ctx context.Context, words []byte, ids []string) error {
	if e, ok := parseError(words); ok && strings.Contains(strings.ToLower(e.Message+e.Code), "model") {
		if _, others := listed(ids, t.o.Model); len(others) > 0 {
			ids = others
		}
		if len(ids) == 0 {
			return fmt.Errorf("the endpoint has no model %s; look at llm.model", t.o.Model)
		}
		const most = 5
		return fmt.Errorf("the endpoint has no model %s; it has %s", t.o.Model, strings.Join(ids[:min(len(ids), most)], ", "))
	}
	if short, ok := strings.CutSuffix(t.base, completions); ok {
		return fmt.Errorf("llm.base_url is too long; write %s", short)
	}
	for _, other := range []string{t.base + "/v1", root(t.base) + "/v1"} {
		if status, _, err := t.ask(ctx, http.MethodPost, other+completions); err == nil && status != http.StatusNotFound && status < http.StatusInternalServerError {
			return fmt.Errorf("nothing takes conversations at %s%s (status 404), but at %s%s; write %s as llm.base_url", t.base, completions, other, completions, other)
		}
	}
	return fmt.Errorf("nothing takes conversations at %s%s (status 404); look at llm.base_url", t.base, completions)
}

// root is an address without its path.
func root(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return u.Scheme + "://" + u.Host
}

// idsOf reads a list of models; none where it is no list.
func idsOf(list []byte) (ids []string) {
	var said struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if json.Unmarshal(list, &said) != nil {
		return nil
	}
	for _, m := range said.Data {
		ids = append(ids, m.ID)
	}
	return ids
}

// listed says whether a list has a model, which may stand there in a folder or as the
// latest; others are the same model with other tags.
func listed(ids []string, model string) (has bool, others []string) {
	for _, id := range ids {
		bare, _, tagged := strings.Cut(path.Base(id), ":")
		switch {
		case id == model || path.Base(id) == path.Base(model) || id == model+":latest":
			return true, nil
		case tagged && bare == path.Base(model):
			others = append(others, id)
		}
	}
	return false, others
}
