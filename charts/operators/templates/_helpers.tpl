{{/* What a profile runs: "true", or nothing. */}}
{{- define "kidp.policies" -}}{{ if ne .Values.profile "crd-gate" }}true{{ end }}{{- end }}
{{- define "kidp.dispatch" -}}{{ if has .Values.profile (list "platform" "all") }}true{{ end }}{{- end }}
{{- define "kidp.rollouts" -}}{{ if has .Values.profile (list "rollouts" "all") }}true{{ end }}{{- end }}
{{- define "kidp.rest" -}}{{ if and (include "kidp.rollouts" .) .Values.rest.enabled }}true{{ end }}{{- end }}

{{/* The host names of the Service. */}}
{{- define "kidp.host" -}}kidp.{{ .Values.namespace.name }}.svc{{- end }}

{{/* The address at which brokers reach the status API. */}}
{{- define "kidp.statusUrl" -}}
{{- .Values.statusApi.url | default (printf "https://%s:8444" (include "kidp.host" .)) | trimSuffix "/" -}}
{{- end }}

{{/* The address at which brokers of this cluster reach it: the Service, if its certificate has that name. */}}
{{- define "kidp.internalStatusUrl" -}}
{{- if .Values.statusApi.tlsSecret }}{{ include "kidp.statusUrl" . }}{{ else }}https://{{ include "kidp.host" . }}:8444{{ end -}}
{{- end }}

{{- define "kidp.image" -}}
{{- $image := .Values.image -}}
{{- $tag := $image.tag | default .Chart.AppVersion -}}
{{- if $image.digest }}{{ printf "%s@%s" $image.repository $image.digest }}{{ else }}{{ printf "%s:%s" $image.repository $tag }}{{ end -}}
{{- end }}

{{/* The memory limit: rollouts run Helm processes. */}}
{{- define "kidp.resources" -}}
{{- $memory := ternary "4Gi" "768Mi" (eq (include "kidp.rollouts" .) "true") -}}
{{- $requests := dict "cpu" (ternary "500m" "100m" .Values.autoscaling.enabled) "memory" "192Mi" -}}
{{- $default := dict "requests" $requests "limits" (dict "memory" $memory) -}}
{{- toYaml (mergeOverwrite $default (deepCopy .Values.resources)) -}}
{{- end }}

{{/* The security context of a container; the restricted Pod Security Standard. */}}
{{- define "kidp.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{- define "kidp.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{/* The name of a broker and of all its objects; called with (dict "name" NAME "broker" BROKER). */}}
{{- define "kidp.brokerName" -}}
{{- .broker.nameOverride | default (printf "kidp-broker-%s" .name) -}}
{{- end }}

{{/* The enabled brokers as a JSON object; null removes one. */}}
{{- define "kidp.brokers" -}}
{{- $enabled := dict -}}
{{- if include "kidp.dispatch" . -}}
{{- range $name, $broker := .Values.brokers -}}
{{- if $broker }}{{ if ne (toString $broker.enabled) "false" }}{{ $_ := set $enabled $name $broker }}{{ end }}{{ end -}}
{{- end -}}
{{- end -}}
{{- toJson $enabled -}}
{{- end }}

{{/* The channel of a broker; called with (dict "root" $ "broker" BROKER). */}}
{{- define "kidp.brokerChannel" -}}
{{- .broker.channel | default (ternary "Both" "HTTP" (gt (len .root.Values.kafka.bootstrapServers) 0)) -}}
{{- end }}

{{/* The annotations of what the hook needs: there before its Job, and deleted after it. */}}
{{- define "kidp.hookFirst" -}}
helm.sh/hook: pre-delete
helm.sh/hook-weight: "0"
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end }}
