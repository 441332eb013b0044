/** The upper part of the home page. Below it comes docs/README.md. */
export const HERO = {
  layout: "home",
  hero: {
    name: "Argosy",
    text: "Kubernetes operators from three small files",
    tagline: "A CRD, a definition, and a handler in any language. No SDK to learn, no image to build.",
    actions: [
      { theme: "brand", text: "First operator", link: "/first-operator" },
      { theme: "alt", text: "Concepts", link: "/concepts" },
      { theme: "alt", text: "GitHub", link: "https://github.com/argosy-dev/argosy" },
    ],
  },
  features: [
    {
      title: "A handler is a function",
      details: "It gets a custom resource and its children, and returns the children that should exist.",
    },
    {
      title: "Tested without a cluster",
      details:
        "A fixture is an object and the answer that the handler must give. A test takes less than a second.",
    },
    {
      title: "Previewed before it exists",
      details: "Every object and every right of an operator is in pulumi preview, and in the pull request.",
    },
    {
      title: "No change is lost",
      details: "A test that you can run kills and freezes everything between the API server and a handler.",
    },
    {
      title: "Every run can be seen",
      details:
        "A run that changed something or failed is a Workflow in Argo's UI. Conditions and Events name it.",
    },
    {
      title: "Nothing of yours is touched",
      details:
        "Only what the operator applied counts as its own. An existing object with a child's name is left alone.",
    },
  ],
};
