package main

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/cel/library"
)

// Authorizer answers the checks of an expression from a table.
type Authorizer struct {
	User struct {
		Name   string   `json:"name"`
		Groups []string `json:"groups"`
	} `json:"user"`
	// Rules are tried in order; the first that fits decides. Nothing fits: no opinion.
	Rules []Rule `json:"rules"`
	// Resource is what `authorizer.requestResource` is about.
	Resource struct {
		Group, Version, Resource, Subresource, Namespace, Name string
	} `json:"resource"`
}

// Rule fits when each of its fields that is set equals the check's.
type Rule struct {
	User, Path, Group, Resource, Subresource, Namespace, Name, Verb *string
	// Selectors, when set, asks whether the check carries a field or label selector.
	Selectors *bool

	Decision string `json:"decision"` // allow, deny or anything else: no opinion
	Reason   string `json:"reason"`
	Error    string `json:"error"`
}

func (a *Authorizer) values() (any, any) {
	if a == nil {
		return nil, nil
	}
	info := &user.DefaultInfo{Name: a.User.Name, Groups: a.User.Groups}
	return library.NewAuthorizerVal(info, a), library.NewResourceAuthorizerVal(info, a, requestResource{a})
}

func (a *Authorizer) Authorize(_ context.Context, check authorizer.Attributes) (authorizer.Decision, string, error) {
	for index := range a.Rules {
		rule := &a.Rules[index]
		if !rule.fits(check) {
			continue
		}
		var err error
		if rule.Error != "" {
			err = errors.New(rule.Error)
		}
		switch rule.Decision {
		case "allow":
			return authorizer.DecisionAllow, rule.Reason, err
		case "deny":
			return authorizer.DecisionDeny, rule.Reason, err
		default:
			return authorizer.DecisionNoOpinion, rule.Reason, err
		}
	}
	return authorizer.DecisionNoOpinion, "", nil
}

func (r *Rule) fits(check authorizer.Attributes) bool {
	same := func(wanted *string, is string) bool { return wanted == nil || *wanted == is }
	if r.Path == nil && !check.IsResourceRequest() || r.Path != nil && check.IsResourceRequest() {
		return false
	}
	if r.Selectors != nil {
		fields, _ := check.GetFieldSelector()
		labels, _ := check.GetLabelSelector()
		if *r.Selectors != (len(fields)+len(labels) > 0) {
			return false
		}
	}
	return same(r.User, check.GetUser().GetName()) && same(r.Path, check.GetPath()) && same(r.Group, check.GetAPIGroup()) &&
		same(r.Resource, check.GetResource()) && same(r.Subresource, check.GetSubresource()) &&
		same(r.Namespace, check.GetNamespace()) && same(r.Name, check.GetName()) && same(r.Verb, check.GetVerb())
}

// requestResource is the library.Resource of the request at hand.
type requestResource struct{ of *Authorizer }

func (r requestResource) GetName() string        { return r.of.Resource.Name }
func (r requestResource) GetNamespace() string   { return r.of.Resource.Namespace }
func (r requestResource) GetSubresource() string { return r.of.Resource.Subresource }
func (r requestResource) GetResource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: r.of.Resource.Group, Version: r.of.Resource.Version, Resource: r.of.Resource.Resource}
}
