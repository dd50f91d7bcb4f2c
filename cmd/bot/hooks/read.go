package hooks

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"nod/agent/incidents"
	"nod/cmd/bot/config"
)

// mostElements is how many alerts one POST may hold.
const mostElements = 500

// element is an alert as Alertmanager and Grafana write it. Its labels are texts.
type element struct {
	Status string            `json:"status"`
	Labels map[string]string `json:"labels"`
}

// errForm says that a body has not the form of its sender.
var errForm = errors.New("the body must be a JSON object with a list `alerts`, whose elements have `status` and `labels`")

// read reads the alerts of a body. Of the format nod any text is one, and a JSON object may
// have labels and status, or a list `alerts` of such.
func read(format config.AlertFormat, body []byte) ([]incidents.Came, error) {
	var many struct {
		Alerts []json.RawMessage `json:"alerts"`
	}
	err := json.Unmarshal(body, &many)
	switch {
	case len(many.Alerts) > mostElements:
		return nil, errors.New("more than 500 alerts; send fewer at once, as with `max_alerts`")
	case err == nil && many.Alerts != nil:
		out := make([]incidents.Came, 0, len(many.Alerts))
		for _, raw := range many.Alerts {
			one, ok := came(raw)
			if !ok && format != "nod" {
				return nil, errForm
			}
			out = append(out, one)
		}
		return out, nil
	case format != "nod":
		return nil, errForm
	case len(bytes.TrimSpace(body)) == 0:
		return nil, errors.New("the body is empty")
	}
	one, _ := came(body)
	return []incidents.Came{one}, nil
}

// came reads one alert. ok is false where it is no such object.
func came(raw []byte) (c incidents.Came, ok bool) {
	var e element
	ok = json.Unmarshal(raw, &e) == nil
	c.Text = strings.ToValidUTF8(string(raw), "\uFFFD")
	var pretty bytes.Buffer
	if ok && json.Indent(&pretty, raw, "", " ") == nil {
		c.Text = strings.ToValidUTF8(pretty.String(), "\uFFFD")
	}
	if ok {
		c.Labels, c.Resolved = e.Labels, e.Status == "resolved"
	}
	return c, ok
}
