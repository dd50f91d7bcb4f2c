package config

import (
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// isName matches a name that people can say.
var isName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,39}$`)

// Endpoints are all models, by their keys in the file.
func (c *Config) Endpoints() map[string]*Endpoint {
	out := map[string]*Endpoint{"llm": &c.LLM.Endpoint}
	for name, m := range c.Models {
		out["models."+name] = &m.Endpoint
	}
	return out
}

// models checks the further models, and takes from those with an address of their own what
// belongs to another one.
func (k *checker) models() {
	endpoints := k.c.Endpoints()
	keys := slices.Sorted(maps.Keys(endpoints))
	seen := map[string]string{} // key by the name at the provider
	for _, key := range keys {
		e := endpoints[key]
		name, further := strings.CutPrefix(key, "models.")
		switch {
		case !further:
		case !isName.MatchString(name):
			k.at("models."+shown(name), "must be a name of letters, digits, _ and -, such as deep")
		case name == "default":
			k.at(key, "is the word that goes back to the first model; write another name")
		}
		if further && k.written(key+".base_url") {
			e.own(k, key)
		}
		if other, twice := seen[e.Model]; !twice {
			seen[e.Model] = key
		} else if !reflect.DeepEqual(e.Prices, endpoints[other].Prices) {
			k.at(key+".prices", "are others than those of %s, which is the same model; costs are kept by the model", other)
		}
		k.fallback(key, e.Fallback)
	}
}

// own drops what was inherited of another address.
func (e *Endpoint) own(k *checker, key string) {
	if !k.written(key + ".api_key") {
		e.APIKey = LLM{}.APIKey
	}
	if !k.written(key + ".prices") {
		e.Prices = nil
	}
}

func (k *checker) fallback(key string, names []string) {
	for i, name := range names {
		at := item(key+".fallback", i)
		m, known := k.c.Models[name]
		switch {
		case !known:
			k.at(at, "is no name of models%s", didYouMean(name, slices.Sorted(maps.Keys(k.c.Models))))
		case key == "models."+name:
			k.at(at, "is this model itself; name another")
		case slices.Contains(names[:i], name):
			k.at(at, "is there twice; remove one")
		case !slices.Contains(m.For, "everyone"):
			k.at(at, "is for some people only (models.%s.for), and a fallback answers everybody; name another", name)
		}
	}
}
