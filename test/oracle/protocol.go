package main

import (
	"encoding/json"

	celpb "cel.dev/expr"
)

// Request asks about one expression.
type Request struct {
	ID any `json:"id,omitempty"`
	// Environment is "kubernetes" (Kubernetes 1.36's, the default) or "latest" (newest cel-go, every extension).
	Environment string `json:"environment"`
	// Do is "evaluate" (the default), "check" or "estimate".
	Do         string `json:"do"`
	Expression string `json:"expression"`

	// Variables of an admission policy, as JSON that is decoded as Kubernetes decodes it.
	Object          json.RawMessage `json:"object"`
	OldObject       json.RawMessage `json:"oldObject"`
	Params          json.RawMessage `json:"params"`
	Request         json.RawMessage `json:"request"`
	NamespaceObject json.RawMessage `json:"namespaceObject"`
	Authorizer      *Authorizer     `json:"authorizer"`
	// Schema is the OpenAPI v3 schema of object and oldObject; without it both are dyn, as in a policy that runs.
	Schema json.RawMessage `json:"schema"`
	// Mutation adds what a MutatingAdmissionPolicy has: Object{}, JSONPatch{}, jsonpatch.escapeKey.
	Mutation bool `json:"mutation"`

	// Declarations replace the variables above: the environment then has only these.
	Declarations []Declaration `json:"declarations"`
	// Bindings are the values of the declared variables.
	Bindings      map[string]WireValue `json:"bindings"`
	Container     string               `json:"container"`
	DisableMacros bool                 `json:"disableMacros"`
	DisableCheck  bool                 `json:"disableCheck"`

	// Repeat evaluates so many times more, for what depends on the order of a map.
	Repeat int `json:"repeat"`
}

// Bare says whether the request brings its own declarations instead of an admission policy's variables.
func (r *Request) Bare() bool { return r.Declarations != nil }

// Declaration of a variable (Type) or of a function (Overloads).
type Declaration struct {
	Name      string     `json:"name"`
	Type      *WireType  `json:"type,omitempty"`
	Overloads []Overload `json:"overloads,omitempty"`
}

type Overload struct {
	ID         string     `json:"id"`
	Member     bool       `json:"member"`
	Parameters []WireType `json:"parameters"`
	Result     WireType   `json:"result"`
}

// Answer to one request: a value or an error.
type Answer struct {
	ID    any       `json:"id,omitempty"`
	Value WireValue `json:"value,omitempty"`
	// Type is the static type the checker gave the whole expression.
	Type *WireType `json:"type,omitempty"`
	// Cost is what the evaluation cost, also when it ended in an error.
	Cost     *uint64    `json:"cost,omitempty"`
	Estimate *Range     `json:"estimate,omitempty"`
	Error    *WireError `json:"error,omitempty"`
	// Others are the different values and costs that repeating gave.
	Others []*Answer `json:"others,omitempty"`
}

// Range of a static estimate, as decimal text: the bounds go to 2^64-1.
type Range struct {
	Min string `json:"min"`
	Max string `json:"max"`
}

// WireError: Kind is "parse", "check", "program" or "eval" for the expression's own errors,
// "request" or "panic" for the oracle's.
type WireError struct {
	Kind    string `json:"kind"`
	Message string `json:"message"`
}

func failed(kind, message string) *Answer {
	return &Answer{Error: &WireError{Kind: kind, Message: message}}
}

// declarationProto is the declaration as both versions of cel-go read it.
func (d *Declaration) proto() *celpb.Decl {
	if d.Type != nil {
		return &celpb.Decl{Name: d.Name, DeclKind: &celpb.Decl_Ident{Ident: &celpb.Decl_IdentDecl{Type: d.Type.proto()}}}
	}
	function := &celpb.Decl_FunctionDecl{}
	for _, each := range d.Overloads {
		overload := &celpb.Decl_FunctionDecl_Overload{
			OverloadId: each.ID, IsInstanceFunction: each.Member, ResultType: each.Result.proto(),
		}
		names := map[string]bool{}
		for _, parameter := range each.Parameters {
			overload.Params = append(overload.Params, parameter.proto())
			parameter.collectParameters(names)
		}
		each.Result.collectParameters(names)
		for name := range names {
			overload.TypeParams = append(overload.TypeParams, name)
		}
		function.Overloads = append(function.Overloads, overload)
	}
	return &celpb.Decl{Name: d.Name, DeclKind: &celpb.Decl_Function{Function: function}}
}
